process EXPORT_AIRR {
    tag "${meta.id}"
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells), path(chains)
    val library

    output:
    tuple val(meta), path("${prefix}.tsv"), emit: rearrangements, optional: true
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('export'), val("${meta.id}.tsv"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    export_airr.py --cells ${cells} --chains ${chains} --out ${prefix}.tsv \\
        --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --missing missing/${meta.id}.tsv.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.tsv versions.yml
    """
}
