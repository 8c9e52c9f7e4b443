process ANALYSE_RESULTS {
    tag "${analysis}"
    label 'process_low'

    input:
    tuple val(analysis), path(measured), val(encoders) // names, joined by commas
    path auroc // [ the benchmark's summary ] or []
    val excluded
    val library

    output:
    path '*.{parquet,tsv,svg,png}', emit: results
    path 'versions.yml', emit: versions

    script:
    """
    analyse_results.py ${measured} --analysis ${analysis} --encoders ${encoders} \\
        ${auroc ? "--auroc ${auroc}" : ''} --exclude-references '${excluded}' \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${analysis}.parquet ${analysis}.tsv ${analysis}.svg ${analysis}.png versions.yml
    """
}
