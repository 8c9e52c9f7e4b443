process EMBED_RECEPTORS {
    tag "${shard.baseName}"
    label 'process_medium'
    label 'process_gpu'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(part), val(whole), path(shard) // whole: whether the shard is all of its partition
    tuple val(name), path(folder, stageAs: 'model') // folder: [] for a published variant
    val settings // map: device, precision, model_digest
    val library

    output:
    tuple(val(part), val(whole), path("${vectors}.parquet"), emit: embeddings)
    path("embeddings${part}.qc.json", emit: qc, optional: true) // of a whole partition
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    def model = folder ?: name
    prefix = task.ext.prefix ?: "${name}"
    vectors = whole ? "${prefix}${part}" : "shards/${shard.baseName}"
    """
    embed_receptors.py ${shard} --model ${model} --out ${vectors}.parquet ${whole ? "--qc embeddings${part}.qc.json" : ''} \\
        --device ${settings.device} --precision ${settings.precision} --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "${name}"
    vectors = whole ? "${prefix}${part}" : "shards/${shard.baseName}"
    """
    mkdir -p shards
    touch ${vectors}.parquet ${whole ? "embeddings${part}.qc.json" : ''} versions.yml
    """
}
