process NORMALISE_RECEPTORS {
    tag "${metas.size() == 1 ? metas[0].id : "${metas.size()} tables"}"
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(metas), path(tables, stageAs: 'tables/?/*'), path(columns, stageAs: 'column_maps/?/*') // [] or a map for each
    val settings // map: multichain, max_rejected, max_unpacked, partitions
    val library // so that an edit of the library reruns the task

    output:
    tuple(val(metas), path('*.cells.parquet'), optional: true, emit: cells)
    tuple(val(metas), path('*.chains.parquet'), optional: true, emit: chains)
    tuple(val(metas), path('*.receptors_*.parquet'), optional: true, emit: receptors) // one a partition
    tuple(val(metas), path('gamma_delta/*.cells.parquet'), optional: true, emit: gamma_delta_cells)
    tuple(val(metas), path('gamma_delta/*.chains.parquet'), optional: true, emit: gamma_delta_chains)
    path('*.rejects.parquet', optional: true, emit: rejects)
    tuple(val(metas), path('*.qc.json'), optional: true, emit: qc)
    path('*.missing.json', optional: true, emit: missing) // why there is none of these
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    def alone = metas.size() == 1 // then a path is no list
    def maps = columns && alone ? [columns] : columns
    def options = metas.withIndex().collect { meta, place ->
        def table = alone ? tables : tables[place]
        def layout = maps ? ['--column-map', maps[place].toString()] : meta.format ? ['--format', meta.format] : []
        def use = ['--sample', meta.id, '--part', meta.part, '--species', meta.species, '--missing', "${meta.id}.missing.json"]
        def units = (meta.row_unit ? ['--row-unit', meta.row_unit] : []) + (meta.count_unit ? ['--count-unit', meta.count_unit] : [])
        [table.toString(), '--metadata', groovy.json.JsonOutput.toJson(meta.metadata)] + use + units + layout
    }
    // The quoted heredoc keeps the shell from reading the user's words; JSON is one line.
    """
    cat > options.json <<'END_OF_OPTIONS'
    ${groovy.json.JsonOutput.toJson(options)}
    END_OF_OPTIONS

    normalise_receptors.py --each options.json --multichain ${settings.multichain} --max-rejected ${settings.max_rejected} \\
        --max-unpacked ${settings.max_unpacked} --partitions ${settings.partitions} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir gamma_delta
    for sample in ${metas.collect { meta -> meta.id }.join(' ')}; do
        touch {.,gamma_delta}/\$sample.{cells,chains}.parquet \$sample.rejects.parquet \$sample.qc.json
        for partition in \$(seq 0 \$((${settings.partitions} - 1))); do
            touch \$sample.receptors_\$(printf %04d \$partition).parquet
        done
    done
    touch versions.yml
    """
}
