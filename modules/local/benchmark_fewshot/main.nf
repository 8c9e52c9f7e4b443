process BENCHMARK_FEWSHOT {
    tag "${encoder}"
    label 'process_medium'

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*'), val(encoder), path(weights, stageAs: 'model')
    val settings // map: species, exclude_references, benchmark_*, seed
    val library

    output:
    path "${encoder}.*", emit: results
    path 'versions.yml', emit: versions

    script:
    """
    benchmark_fewshot.py --cells ${cells} --receptors receptors --encoder ${weights ?: encoder} --name ${encoder} \\
        --species ${settings.species} --exclude-references '${settings.exclude_references}' \\
        --k ${settings.benchmark_k} --splits ${settings.benchmark_splits} \\
        --min-positives ${settings.benchmark_min_positives} --seed ${settings.seed} \\
        --cpus ${task.cpus} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${encoder}.auroc.parquet ${encoder}.roc.parquet ${encoder}.not_evaluated.parquet ${encoder}.qc.json
    touch versions.yml
    """
}
