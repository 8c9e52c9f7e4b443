process COUNT_CLONES {
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    path(cells, stageAs: 'cells/*')
    path(chains, stageAs: 'chains/*') // of the same samples, in the same order
    path(receptors, stageAs: 'receptors/*') // of the run, one file per partition
    path(labelled, stageAs: 'labelled/*') // [] without a labelled table
    val settings // map: clone_by
    val library

    output:
    path('{clones,counts,members,samples}.parquet', emit: clones)
    path('clones.qc.json', emit: qc)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    """
    count_clones.py --cells ${cells} --chains ${chains} --receptors receptors \\
        ${labelled ? "--labelled ${labelled}" : ''} ${settings.clone_by ? "--clone-by ${settings.clone_by}" : ''} \\
        --memory ${task.memory.toMega().intdiv(4)}MB --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch {clones,counts,members,samples}.parquet clones.qc.json versions.yml
    """
}
