process MERGE_EMBEDDINGS {
    tag "${model}"
    label 'process_low'

    input:
    path shards
    path receptors
    val model
    val library

    output:
    path "${model}.parquet", emit: embeddings
    path 'embeddings.qc.json', emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    merge_embeddings.py ${shards} --receptors ${receptors} --out ${model}.parquet --qc embeddings.qc.json \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${model}.parquet embeddings.qc.json versions.yml
    """
}
