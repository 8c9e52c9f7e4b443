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
    tuple val(part), path("${prefix}.embeddings.parquet"), emit: embeddings
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${shard.baseName}"
    """
    embed_receptors.py ${shard} --model model --out ${prefix}.embeddings.parquet \\
        --device ${settings.device} --precision ${settings.precision} --cpus ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "${shard.baseName}"
    """
    touch ${prefix}.embeddings.parquet versions.yml
    """
}
