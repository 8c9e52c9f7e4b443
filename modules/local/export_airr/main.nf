process EXPORT_AIRR {
    tag "${names.size() == 1 ? names[0] : "${names.size()} samples"}"
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(names), path(cells), path(chains) // one of each for each sample
    val library

    output:
    path('*.tsv', emit: rearrangements, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('export'), val(names), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    def options = names.collect { name ->
        ['--cells', "${name}.cells.parquet", '--chains', "${name}.chains.parquet", '--out', "${name}.tsv"] + ['--missing', "missing/${name}.tsv.missing.json"]
    }
    """
    cat > options.json <<'END_OF_OPTIONS'
    ${groovy.json.JsonOutput.toJson(options)}
    END_OF_OPTIONS

    export_airr.py --each options.json --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${names.collect { name -> "${name}.tsv" }.join(' ')} versions.yml
    """
}
