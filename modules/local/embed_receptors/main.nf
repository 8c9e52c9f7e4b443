process EMBED_RECEPTORS {
    tag "${shard.baseName}"
    label 'process_medium'
    label 'process_gpu'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(part), path(shard)
    tuple val(name), path(folder, stageAs: 'model') // folder: [] for a published variant
    val settings // map: device, precision, model_digest
    val library

    output:
    tuple val(part), path("${prefix}.embeddings.parquet"), emit: embeddings
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    def model = folder ?: name
    prefix = task.ext.prefix ?: "${shard.baseName}"
    """
    embed_receptors.py ${shard} --model ${model} --out ${prefix}.embeddings.parquet \\
        --device ${settings.device} --precision ${settings.precision} --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "${shard.baseName}"
    """
    touch ${prefix}.embeddings.parquet versions.yml
    """
}
