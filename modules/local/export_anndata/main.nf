process EXPORT_ANNDATA {
    tag "${names.size() == 1 ? names[0] : "${names.size()} samples"}"
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(names), path(cells), path(chains), path(description) // of each sample, or all_samples
    path(receptors, stageAs: 'receptors/*')
    path(embeddings, stageAs: 'embeddings/*')
    val library

    output:
    path('*.h5ad', emit: anndata, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('export'), val(names), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    def options = names.collect { name ->
        def all = name == 'all_samples'
        def own = ['--cells'] + (all ? [cells].flatten() : ["${name}.cells.parquet"]) + ['--chains'] + (all ? [chains].flatten() : ["${name}.chains.parquet"])
        def made = ['--out', "${name}.h5ad", '--missing', "missing/${name}.h5ad.missing.json"]
        own.collect { word -> "${word}" } + ['--description', "${name}.description.parquet", '--names', all ? 'name' : 'barcode'] + made
    }
    """
    cat > options.json <<'END_OF_OPTIONS'
    ${groovy.json.JsonOutput.toJson(options)}
    END_OF_OPTIONS

    export_anndata.py --each options.json --receptors receptors --embeddings embeddings \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${names.collect { name -> "${name}.h5ad" }.join(' ')} versions.yml
    """
}
