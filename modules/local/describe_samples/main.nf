process DESCRIBE_SAMPLES {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'clones/*') // clones, counts, samples
    val settings // map: compare_by
    val library

    output:
    path('*.{parquet,tsv}', emit: tables, optional: true)
    path('samples.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('samples'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    describe_samples.py --clones clones \\
        ${settings.compare_by ? "--compare-by '${settings.compare_by}'" : ''} --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch {largest_clones,clone_sizes,gene_usage,cdr3_lengths,vj_pairing,diversity,rarefaction}.{parquet,tsv}
    touch samples.qc.json versions.yml
    """
}
