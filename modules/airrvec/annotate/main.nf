process AIRRVEC_ANNOTATE {
    tag "${meta.id}"
    label 'process_medium'
    conda "${moduleDir}/../environment.yml"

    input:
    tuple val(meta), path(table)
    path reference // labelled table, or a folder written by `airrvec reference`

    output:
    tuple(val(meta), path("${prefix}/*.parquet"), emit: tables) // calls of receptors and of cells, cells, chains, rejects
    tuple(val(meta), path("${prefix}/*.annotation.qc.json"), emit: qc)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    airrvec annotate ${table} --reference ${reference} --outdir ${prefix} --threads ${task.cpus} ${args}
    printf '"%s":\\n    airrvec: "%s"\\n' ${task.process} "\$(airrvec --version | cut -d ' ' -f 2)" > versions.yml
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/${table.simpleName}.parquet ${prefix}/${table.simpleName}.annotation.qc.json versions.yml
    """
}
