process EMBED_RECEPTORS {
    tag "${shard.baseName}"
    label 'process_medium'

    input:
    path shard
    val model
    val library

    output:
    path "${shard.baseName}.embeddings.parquet", emit: embeddings
    path 'versions.yml', emit: versions

    script:
    """
    embed_receptors.py ${shard} --model ${model} --cpus ${task.cpus} --out ${shard.baseName}.embeddings.parquet \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${shard.baseName}.embeddings.parquet versions.yml
    """
}
