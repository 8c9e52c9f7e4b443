process DESCRIBE_GAMMA_DELTA {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(cells, stageAs: 'cells/*')
    path(chains, stageAs: 'chains/*') // of the same samples, in the same order
    val settings // map: clone_by, cluster, cluster_method, seed
    val library

    output:
    path('gamma_delta/*.{parquet,tsv}', emit: tables, optional: true)
    path('gamma_delta/gamma_delta.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('gamma_delta'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    describe_gamma_delta.py --cells ${cells} --chains ${chains} \\
        ${settings.clone_by ? "--clone-by ${settings.clone_by}" : ''} \\
        ${settings.cluster ? '--cluster' : ''} --cluster-method ${settings.cluster_method} --seed ${settings.seed} \\
        --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir gamma_delta
    touch gamma_delta/{receptors,counts,members,samples}.parquet
    touch gamma_delta/{clones,clone_sizes,gene_usage,cdr3_lengths,vj_pairing,diversity,rarefaction}.{parquet,tsv}
    touch gamma_delta/gamma_delta.qc.json versions.yml
    """
}
