process EMBED_RECEPTORS {
    tag "${shard.baseName}"
    label 'process_medium'
    label 'process_gpu'

    input:
    tuple val(part), path(shard)
    path model, stageAs: 'model' // folder
    val settings // map: device, precision, model_digest
    val library

    output:
    tuple val(part), path("${shard.baseName}.embeddings.parquet"), emit: embeddings
    path 'versions.yml', emit: versions

    script:
    """
    embed_receptors.py ${shard} --model model --out ${shard.baseName}.embeddings.parquet \\
        --device ${settings.device} --precision ${settings.precision} --cpus ${task.cpus} \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${shard.baseName}.embeddings.parquet versions.yml
    """
}
