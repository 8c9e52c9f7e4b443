process COMPARE_CONDITIONS {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'counted/*') // clones, counts, members, samples
    path(described, stageAs: 'clones/*') // clones with their calls and clusters
    path(samples, stageAs: 'samples/*') // tables of describe_samples.py
    path(comparison, stageAs: 'comparison/*') // tables of compare_samples.py; [] without --compare
    path(gamma_delta, stageAs: 'gamma_delta/*') // tables of describe_gamma_delta.py; [] without γδ cells
    path(samplesheet, stageAs: 'samplesheet/*')
    val settings // map: compare_by, compare_within, compare_permutations, seed
    val library

    output:
    path('{tests,measures,told,steps,changes,gamma_delta_tests}.{parquet,tsv}', emit: tables, optional: true)
    path('conditions.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('conditions'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    compare_conditions.py --clones counted --described samples --table ${described} \\
        ${comparison ? '--comparison comparison' : ''} ${gamma_delta ? '--gamma-delta gamma_delta' : ''} --samplesheet ${samplesheet} \\
        --compare-by '${settings.compare_by}' ${settings.compare_within ? "--compare-within '${settings.compare_within}'" : ''} \\
        --compare-permutations ${settings.compare_permutations} --seed ${settings.seed} \\
        --memory ${task.memory.toMega().intdiv(2)}MB --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch {tests,measures,told,steps,changes${gamma_delta ? ',gamma_delta_tests' : ''}}.{parquet,tsv} conditions.qc.json versions.yml
    """
}
