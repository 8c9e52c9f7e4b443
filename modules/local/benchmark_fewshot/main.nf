process BENCHMARK_FEWSHOT {
    tag "${encoder}"
    label 'process_medium'
    label 'process_optional'
    ext(torch: { weights ? true : false }) // language models come with their weights
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*'), val(encoder), path(own, stageAs: 'own/*'), path(weights, stageAs: 'weights'), val(digest)
    path(background, stageAs: 'background') // receptors for linear_svc, or []
    path(trained_on, stageAs: 'trained_on/*') // training_labels.parquet of the run's model, or []
    val settings // map: device, species, exclude_references, benchmark_*, seed
    val library

    output:
    path("${encoder}.*", emit: results, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('benchmark'), val("${encoder}"), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    benchmark_fewshot.py --cells ${cells} --receptors receptors --encoder ${own ?: encoder} --name ${encoder} \\
        ${weights ? '--hub-cache weights' : ''} --device ${settings.device} \\
        --species ${settings.species} --exclude-references '${settings.exclude_references}' \\
        --benchmark-k ${settings.benchmark_k} --benchmark-splits ${settings.benchmark_splits} \\
        --benchmark-min-positives ${settings.benchmark_min_positives} --seed ${settings.seed} \\
        --benchmark-rules ${settings.benchmark_rules} --benchmark-chains ${settings.benchmark_chains} --benchmark-test-sets ${settings.benchmark_test_sets} \\
        ${settings.benchmark_with_excluded.toString().toBoolean() ? '--benchmark-with-excluded' : ''} \\
        ${settings.benchmark_scores.toString().toBoolean() ? '--benchmark-scores' : ''} ${background ? '--background background' : ''} \\
        ${trained_on ? "--trained-on ${trained_on}" : ''} \\
        --threads ${task.cpus} --missing missing/${encoder}.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${encoder}.auroc.parquet ${encoder}.roc.parquet ${encoder}.not_evaluated.parquet ${encoder}.qc.json
    touch ${encoder}.splits.parquet ${encoder}.benchmark_receptors.parquet
    touch versions.yml
    """
}
