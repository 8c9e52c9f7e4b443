process EXPORT_ANNDATA {
    tag "${meta.id}"
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells)
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'
    val library

    output:
    tuple val(meta), path("${prefix}.h5ad"), emit: anndata, optional: true
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('export'), val("${meta.id}.h5ad"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    export_anndata.py --cells ${cells} --receptors receptors --embeddings embeddings --out ${prefix}.h5ad \\
        --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --missing missing/${meta.id}.h5ad.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.h5ad versions.yml
    """
}
