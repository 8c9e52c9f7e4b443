process AIRRVEC_EMBED {
    tag "${meta.id}"
    label 'process_medium'
    conda "${moduleDir}/../environment.yml"

    input:
    tuple val(meta), path(table)
    val model // published variant, or folder of a model

    output:
    tuple(val(meta), path("${prefix}.parquet"), emit: embeddings)
    tuple(val(meta), path("${prefix}.receptors.parquet"), emit: receptors)
    tuple(val(meta), path("${prefix}_tables"), emit: tables) // cells, chains, rejects
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    airrvec embed ${table} --model ${model} --out ${prefix}.parquet --threads ${task.cpus} ${args}
    printf '"%s":\\n    airrvec: "%s"\\n' ${task.process} "\$(airrvec --version | cut -d ' ' -f 2)" > versions.yml
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}_tables
    touch ${prefix}.parquet ${prefix}.receptors.parquet versions.yml
    """
}
