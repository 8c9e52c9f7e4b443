process EMBED_BACKGROUND {
    label 'process_parallel'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'clones/*') // clones, counts, members, samples
    path(receptors, stageAs: 'receptors/*')
    path(embeddings, stageAs: 'embeddings/*')
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path(background, stageAs: 'background/*') // [] for OLGA's
    val settings // map: cluster_chance, seed, background_digest, model_digest
    val library

    output:
    path('groups', emit: groups, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there are none
    tuple(val('background'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    embed_background.py --clones clones --receptors receptors --embeddings embeddings \\
        --model ${weights ?: model} ${background ? "--background ${background}" : ''} \\
        --cluster-chance ${settings.cluster_chance} --seed ${settings.seed} --outdir groups \\
        --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir groups
    touch versions.yml
    """
}
