process DESCRIBE_CELLS {
    tag "${name}"
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(name), path(cells), path(annotation, stageAs: 'annotation/*') // of one sample or of several; [] without calls
    path members, stageAs: 'clusters/*' // [] without clusters
    path receptors, stageAs: 'receptors/*' // [] if no R asks for columns
    path embeddings, stageAs: 'embeddings/*' // the same
    val library

    output:
    tuple val(name), path("${name}.description.parquet"), emit: description, optional: true
    tuple val(name), path("${name}.columns.bin"), emit: columns, optional: true // for EXPORT_SCE
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('export'), val("${name}.description.parquet"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    def columns = receptors ? "--columns ${name}.columns.bin --receptors receptors --embeddings embeddings" : ''
    """
    describe_cells.py ${cells} ${annotation ? "--annotation ${annotation}" : ''} ${members ? "--members ${members}" : ''} \\
        ${columns} --out ${name}.description.parquet --memory ${task.memory.toMega().intdiv(2)}MB --cpus ${task.cpus} \\
        --missing missing/${name}.description.parquet.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${name}.description.parquet ${receptors ? "${name}.columns.bin" : ''} versions.yml
    """
}
