process COMPARE_SAMPLES {
    label 'process_medium'

    input:
    path cells, stageAs: 'cells/*'
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path background, stageAs: 'background/*' // [] for OLGA's
    val settings // map: species, cluster_chance, condition, abundance, compare_receptors, compare_permutations, seed
    val library

    output:
    path '*.{parquet,tsv}', emit: tables
    path 'comparison.qc.json', emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    compare_samples.py --cells ${cells} --receptors receptors --embeddings embeddings \\
        --model ${weights ?: model} ${background ? "--background ${background}" : ''} --species ${settings.species} \\
        --chance ${settings.cluster_chance} --compared ${settings.compare_receptors} --permutations ${settings.compare_permutations} \\
        ${settings.condition ? "--condition '${settings.condition}'" : ''} --abundance ${settings.abundance} --seed ${settings.seed} \\
        --cpus ${task.cpus} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch {diversity,pairs,samples_pca,conditions}.{parquet,tsv} comparison.qc.json versions.yml
    """
}
