process DESCRIBE_CELLS {
    tag "${name}"
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(name), path(cells), path(annotation, stageAs: 'annotation/*') // of one sample or of several; [] without calls
    path members, stageAs: 'clusters/*' // [] without clusters
    val library

    output:
    tuple val(name), path("${name}.description.parquet"), emit: description, optional: true
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('export'), val("${name}.description.parquet"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    """
    describe_cells.py ${cells} ${annotation ? "--annotation ${annotation}" : ''} ${members ? "--members ${members}" : ''} \\
        --out ${name}.description.parquet --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --missing missing/${name}.description.parquet.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${name}.description.parquet versions.yml
    """
}
