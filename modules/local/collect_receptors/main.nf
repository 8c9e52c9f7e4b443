process COLLECT_RECEPTORS {
    label 'process_low'

    input:
    path receptors
    path labelled // [] if there is no labelled table
    val shard_size
    val library

    output:
    path 'receptors.parquet', emit: receptors
    path 'shards/*.parquet', emit: shards
    path 'receptors.qc.json', emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    collect_receptors.py ${receptors} ${labelled ? "--labelled ${labelled}" : ''} --shard-size ${shard_size} \\
        --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    mkdir shards
    touch receptors.parquet receptors.qc.json shards/shard_0000.parquet shards/shard_0001.parquet versions.yml
    """
}
