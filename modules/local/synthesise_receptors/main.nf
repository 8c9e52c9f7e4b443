process SYNTHESISE_RECEPTORS {
    tag "${shard}"
    label 'process_low'

    input:
    val shard // from 0
    val shards
    val receptors // of all shards together
    val seed
    val library

    output:
    path 'synthetic_*.receptors.parquet', emit: receptors
    path 'versions.yml', emit: versions

    script:
    def name = "synthetic_${shard.toString().padLeft(4, '0')}.receptors.parquet"
    """
    synthesise_receptors.py --receptors ${receptors} --shard ${shard} --shards ${shards} --seed ${seed} \\
        --out ${name} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch synthetic_${shard.toString().padLeft(4, '0')}.receptors.parquet versions.yml
    """
}
