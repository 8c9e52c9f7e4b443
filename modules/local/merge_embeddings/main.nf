process MERGE_EMBEDDINGS {
    tag "${model}${part}"
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(part), path(shards), path(receptors)
    val model
    val library

    output:
    path("${prefix}${part}.parquet", emit: embeddings)
    path("embeddings${part}.qc.json", emit: qc)
    path('versions.yml', emit: versions)

    script:
    prefix = task.ext.prefix ?: "${model}"
    """
    merge_embeddings.py ${shards} --receptors ${receptors} --out ${prefix}${part}.parquet --qc embeddings${part}.qc.json \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    prefix = task.ext.prefix ?: "${model}"
    """
    touch ${prefix}${part}.parquet embeddings${part}.qc.json versions.yml
    """
}
