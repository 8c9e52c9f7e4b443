process DESCRIBE_CLONES {
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'counted/*') // clones, counts, members, samples
    path(annotation, stageAs: 'annotation/*') // one file per sample; [] without calls
    path(annotated, stageAs: 'annotated/*') // their QC
    path(reference, stageAs: 'reference/*') // [] without calls
    path(clusters, stageAs: 'clusters/*') // clusters, members, QC; [] without clusters
    val settings // map: finetune
    val library

    output:
    path('clones.parquet', emit: clones)
    path('references.parquet', emit: references, optional: true) // with calls and clusters
    path('*.tsv', emit: texts, optional: true) // none of more rows than a spreadsheet has
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    def calls = annotation ? "--annotation ${annotation} --annotated ${annotated} --reference ${reference}" : ''
    def tables = clusters ? '--clusters clusters/clusters.parquet --members clusters/members.parquet' : ''
    // the calls are of vectors that are not fine-tuned
    def radius = clusters && !settings.finetune ? '--radius clusters/clusters.qc.json' : ''
    """
    describe_clones.py --clones counted ${calls} ${tables} ${radius} \\
        --memory ${task.memory.toMega().intdiv(4)}MB --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch clones.parquet {clones,clones_by_sample}.tsv ${annotation && clusters ? 'references.parquet references.tsv' : ''} versions.yml
    """
}
