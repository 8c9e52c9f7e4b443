process ANALYSE_RESULTS {
    tag "${analysis}"
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(analysis), path(measured), val(encoders) // names, joined by commas
    path auroc // [ the benchmark's summary ] or []
    val excluded
    val library

    output:
    path('*.{parquet,tsv,svg,png}', emit: results, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('analysis'), val("${analysis}"), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    analyse_results.py ${measured} --analysis ${analysis} --encoders ${encoders} \\
        ${auroc ? "--auroc ${auroc}" : ''} --exclude-references '${excluded}' \\
        --missing missing/${analysis}.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${analysis}.parquet ${analysis}.tsv ${analysis}.svg ${analysis}.png versions.yml
    """
}
