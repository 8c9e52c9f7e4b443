process PLACE_RECEPTORS {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(embeddings, stageAs: 'embeddings/*')
    val seed
    val library

    output:
    path('map.parquet', emit: places, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there are none
    tuple(val('places'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    place_receptors.py --embeddings embeddings --seed ${seed} \\
        --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch map.parquet versions.yml
    """
}
