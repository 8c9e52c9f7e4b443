process SYNTHESISE_RECEPTORS {
    tag "${shard}"
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    val shard // from 0
    val shards
    val receptors // of all shards together
    val seed
    val library

    output:
    path("${prefix}.receptors.parquet", emit: receptors)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "synthetic_${shard.toString().padLeft(4, '0')}"
    """
    synthesise_receptors.py --receptors ${receptors} --shard ${shard} --shards ${shards} --seed ${seed} \\
        --out ${prefix}.receptors.parquet --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "synthetic_${shard.toString().padLeft(4, '0')}"
    """
    touch ${prefix}.receptors.parquet versions.yml
    """
}
