process EMBED_RECEPTORS {
    tag "${shard.baseName}"
    label 'process_medium'

    input:
    tuple val(part), path(shard)
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    val library

    output:
    tuple val(part), path("${shard.baseName}.embeddings.parquet"), emit: embeddings
    path 'versions.yml', emit: versions

    script:
    """
    embed_receptors.py ${shard} --model ${weights ?: model} --cpus ${task.cpus} --out ${shard.baseName}.embeddings.parquet \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${shard.baseName}.embeddings.parquet versions.yml
    """
}
