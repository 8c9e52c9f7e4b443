process EXPORT_AIRR {
    tag "${meta.id}"
    label 'process_low'

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    val library

    output:
    tuple val(meta), path("${meta.id}.tsv"), emit: rearrangements
    path 'versions.yml', emit: versions

    script:
    """
    export_airr.py --cells ${cells} --receptors receptors --out ${meta.id}.tsv \\
        --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${meta.id}.tsv versions.yml
    """
}
