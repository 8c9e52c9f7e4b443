process CLUSTER_RECEPTORS {
    label 'process_medium'

    input:
    path cells, stageAs: 'cells/*'
    path labelled, stageAs: 'labelled/*' // [] without labelled receptors
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path background, stageAs: 'background/*' // [] for OLGA's
    val settings // map: species, cluster_method, cluster_chance, condition, abundance, seed
    val library

    output:
    path '*.{parquet,tsv}', emit: tables
    path 'logos.{svg,png}', emit: logos, optional: true
    path 'clusters.qc.json', emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    cluster_receptors.py --cells ${cells} ${labelled ? "--labelled ${labelled}" : ''} --receptors receptors --embeddings embeddings \\
        --model ${weights ?: model} ${background ? "--background ${background}" : ''} --species ${settings.species} \\
        --method ${settings.cluster_method} --chance ${settings.cluster_chance} \\
        ${settings.condition ? "--condition '${settings.condition}'" : ''} --abundance ${settings.abundance} --seed ${settings.seed} \\
        --cpus ${task.cpus} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch {clusters,members,motifs,conditions}.{parquet,tsv} clusters.qc.json versions.yml
    """
}
