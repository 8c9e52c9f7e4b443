process HANDOVER {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path content // folder: *_mqc.json, of which In brief and methods are read
    val has_map // boolean: whether there is a map beside the report
    path(described, stageAs: 'results/samples/*')
    path(clones, stageAs: 'results/clones/*') // clones with calls, and their counts; [] without samples
    path(calls, stageAs: 'results/annotation/*')
    path(clusters, stageAs: 'results/clusters/*')
    path(comparison, stageAs: 'results/comparison/*')
    path(benchmark, stageAs: 'results/benchmark/*')
    val title
    val library

    output:
    path('handover/*', emit: files, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('handover'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    mkdir -p results
    handover.py --results results --sections ${content} ${has_map ? '--has-map' : ''} \\
        ${title ? "--heading '${title}'" : ''} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir -p handover/figures
    touch handover/{summary.pdf,clones.xlsx,README.txt} versions.yml
    """
}
