process EXPORT_ANNDATA {
    tag "${meta.id}"
    label 'process_low'

    input:
    tuple val(meta), path(cells)
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'
    val library

    output:
    tuple val(meta), path("${meta.id}.h5ad"), emit: anndata
    path 'versions.yml', emit: versions

    script:
    """
    export_anndata.py --cells ${cells} --receptors receptors --embeddings embeddings --out ${meta.id}.h5ad \\
        --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${meta.id}.h5ad versions.yml
    """
}
