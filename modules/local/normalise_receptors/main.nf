process NORMALISE_RECEPTORS {
    tag "${meta.id}"
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(table), path(columns, stageAs: 'column_map/*')
    val settings // map: multichain, max_rejected, max_unpacked, partitions
    val library // so that an edit of the library reruns the task

    output:
    tuple val(meta), path("${meta.id}.cells.parquet"), optional: true, emit: cells
    tuple val(meta), path("${meta.id}.chains.parquet"), optional: true, emit: chains
    tuple val(meta), path("${meta.id}.receptors_*.parquet"), optional: true, emit: receptors // one a partition
    tuple val(meta), path("${meta.id}.rejects.parquet"), optional: true, emit: rejects
    tuple val(meta), path("${meta.id}.qc.json"), optional: true, emit: qc
    path "${meta.id}.missing.json", optional: true, emit: missing // why there is none of these
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    def layout = columns ? "--column-map ${columns}" : meta.format ? "--format ${meta.format}" : ''
    // The quoted heredoc keeps the shell from reading the user's words; JSON is one line.
    """
    cat > metadata.json <<'END_OF_METADATA'
    ${groovy.json.JsonOutput.toJson(meta.metadata)}
    END_OF_METADATA

    normalise_receptors.py ${table} --sample ${meta.id} --part ${meta.part} ${layout} \\
        --species ${meta.species} --multichain ${settings.multichain} --max-rejected ${settings.max_rejected} \\
        --max-unpacked ${settings.max_unpacked} --partitions ${settings.partitions} --metadata metadata.json \\
        --missing ${meta.id}.missing.json --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${meta.id}.cells.parquet ${meta.id}.chains.parquet ${meta.id}.rejects.parquet ${meta.id}.qc.json versions.yml
    for partition in \$(seq 0 \$((${settings.partitions} - 1))); do
        touch ${meta.id}.receptors_\$(printf %04d \$partition).parquet
    done
    """
}
