process AIRRVEC_NORMALISE {
    tag "${meta.id}"
    label 'process_low'
    conda "${moduleDir}/../environment.yml"

    input:
    tuple val(meta), path(table)

    output:
    tuple(val(meta), path("${prefix}/*.cells.parquet"), emit: cells, optional: true)
    tuple(val(meta), path("${prefix}/*.chains.parquet"), emit: chains, optional: true)
    tuple(val(meta), path("${prefix}/*.receptors_0000.parquet"), emit: receptors, optional: true)
    tuple(val(meta), path("${prefix}/*.rejects.parquet"), emit: rejects)
    tuple(val(meta), path("${prefix}/*.qc.json"), emit: qc)
    tuple(val(meta), path("${prefix}/gamma_delta"), emit: gamma_delta, optional: true)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    airrvec normalise ${table} --outdir ${prefix} ${args}
    printf '"%s":\\n    airrvec: "%s"\\n' ${task.process} "\$(airrvec --version | cut -d ' ' -f 2)" > versions.yml
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/${table.simpleName}.{cells,chains,receptors_0000,rejects}.parquet ${prefix}/${table.simpleName}.qc.json versions.yml
    """
}
