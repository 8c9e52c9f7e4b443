process AIRRVEC_CLUSTER {
    tag "${meta.id}"
    label 'process_medium'
    conda "${moduleDir}/../environment.yml"

    input:
    tuple val(meta), path(tables) // of all samples, or one samplesheet beside which they lie

    output:
    tuple(val(meta), path("${prefix}/{clusters,members,motifs}.parquet"), emit: tables)
    tuple(val(meta), path("${prefix}/logos.svg"), emit: logos)
    tuple(val(meta), path("${prefix}/clusters.qc.json"), emit: qc)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    airrvec cluster ${tables} --outdir ${prefix} --threads ${task.cpus} ${args}
    printf '"%s":\\n    airrvec: "%s"\\n' ${task.process} "\$(airrvec --version | cut -d ' ' -f 2)" > versions.yml
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/{clusters,members,motifs}.parquet ${prefix}/logos.svg ${prefix}/clusters.qc.json versions.yml
    """
}
