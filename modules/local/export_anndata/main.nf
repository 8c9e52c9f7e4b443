process EXPORT_ANNDATA {
    tag "${name}"
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(name), path(cells), path(chains), path(description) // of one sample or of several
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'
    val library

    output:
    tuple val(name), path("${prefix}.h5ad"), emit: anndata, optional: true
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('export'), val("${name}.h5ad"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${name}"
    """
    export_anndata.py --cells ${cells} --chains ${chains} --description ${description} \\
        --receptors receptors --embeddings embeddings --names ${name == 'all_samples' ? 'name' : 'barcode'} \\
        --out ${prefix}.h5ad --missing missing/${name}.h5ad.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    prefix = task.ext.prefix ?: "${name}"
    """
    touch ${prefix}.h5ad versions.yml
    """
}
