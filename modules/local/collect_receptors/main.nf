process COLLECT_RECEPTORS {
    tag "receptors${part}"
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(part), path(receptors), path(labelled) // labelled: [] if there is no labelled table
    val shard_tokens
    val library

    output:
    tuple(val(part), path("receptors${part}.parquet"), emit: receptors)
    tuple(val(part), path("shards/*.parquet", arity: '1..*'), emit: shards)
    path("receptors${part}.qc.json", emit: qc)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    """
    collect_receptors.py ${receptors} ${labelled ? "--labelled ${labelled}" : ''} --part '${part}' \\
        --shard-tokens ${shard_tokens} --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir shards
    touch receptors${part}.parquet receptors${part}.qc.json versions.yml
    touch shards/shard${part}_0000.parquet shards/shard${part}_0001.parquet
    """
}
