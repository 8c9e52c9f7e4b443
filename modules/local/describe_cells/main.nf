process DESCRIBE_CELLS {
    tag "${names.size() == 1 ? names[0] : "${names.size()} samples"}"
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(names), path(cells), path(annotation, stageAs: 'annotation/*') // of each sample, or all_samples; [] without calls
    path(clones, stageAs: 'clones/*') // [] without samples
    val annotated // true if a sample of the run has calls: all objects get their columns
    path(members, stageAs: 'clusters/*') // [] without clusters
    path(receptors, stageAs: 'receptors/*') // [] if no R asks for columns
    path(embeddings, stageAs: 'embeddings/*') // the same
    val library

    output:
    tuple(val(names), path('*.description.parquet'), emit: description, optional: true)
    tuple(val(names), path('*.columns.bin'), emit: columns, optional: true) // for EXPORT_SCE
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('export'), val(names), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    def options = names.collect { name ->
        def own = name == 'all_samples' ? [cells].flatten() : ["${name}.cells.parquet"]
        def calls = [annotation].flatten().findAll { file -> name == 'all_samples' || file.baseName == name }
        def columns = receptors ? ['--columns', "${name}.columns.bin"] : []
        def made = ['--out', "${name}.description.parquet", '--missing', "missing/${name}.description.parquet.missing.json"]
        own.collect { file -> "${file}" } + (calls ? ['--annotation'] + calls.collect { file -> "${file}" } : []) + columns + made
    }
    """
    cat > options.json <<'END_OF_OPTIONS'
    ${groovy.json.JsonOutput.toJson(options)}
    END_OF_OPTIONS

    describe_cells.py --each options.json ${clones ? '--clones clones' : ''} ${annotated ? '--annotated' : ''} \\
        ${members ? "--members ${members}" : ''} \\
        ${receptors ? '--receptors receptors --embeddings embeddings' : ''} \\
        --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${names.collect { name -> "${name}.description.parquet${receptors ? " ${name}.columns.bin" : ''}" }.join(' ')} versions.yml
    """
}
