process NAME_CELLS {
    tag "${name}"
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(name), path(cells) // of one sample or of several
    val library

    output:
    tuple val(name), path("${name}.names.parquet"), emit: names, optional: true
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('export'), val("${name}.names.parquet"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    """
    name_cells.py ${cells} --out ${name}.names.parquet \\
        --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --missing missing/${name}.names.parquet.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${name}.names.parquet versions.yml
    """
}
