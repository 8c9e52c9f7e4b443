process MAP_RECEPTORS {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(cells, stageAs: 'cells/*')
    path(receptors, stageAs: 'receptors/*')
    path(embeddings, stageAs: 'embeddings/*')
    path places
    path(annotation, stageAs: 'annotation/*') // [] without --annotate
    path(clones, stageAs: 'clones/*') // of the run
    path(clusters, stageAs: 'clusters/*') // clusters, members and QC; [] without --cluster
    tuple val(name), path(folder, stageAs: 'model') // the model of the vectors; folder: [] for a published variant
    path(page, stageAs: 'page/*') // map.html, its style and code
    val model_digest
    val library

    output:
    path('map.html', emit: results, optional: true)
    path('map.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('map'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    def model = folder ?: name
    """
    map_receptors.py --cells ${cells} --clones clones --receptors receptors --embeddings embeddings --places ${places} \\
        ${annotation ? "--annotation ${annotation}" : ''} ${clusters ? "--members clusters/members.parquet --clusters clusters/clusters.parquet" : ''} \\
        --model ${model} \\
        --page page --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch map.html map.qc.json versions.yml
    """
}
