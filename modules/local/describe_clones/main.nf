process DESCRIBE_CLONES {
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    path clones, stageAs: 'counted/*' // clones, counts, members, samples
    path annotation, stageAs: 'annotation/*' // one file per sample; [] without calls
    path members, stageAs: 'clusters/*' // [] without clusters
    val library

    output:
    path('clones.parquet'), emit: clones
    path('*.tsv'), emit: texts, optional: true // none of more rows than a spreadsheet has
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    """
    describe_clones.py --clones counted ${annotation ? "--annotation ${annotation}" : ''} \\
        ${members ? "--members ${members}" : ''} \\
        --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch clones.parquet {clones,clones_by_sample}.tsv versions.yml
    """
}
