process SUMMARISE_FEWSHOT {
    label 'process_low'

    input:
    path results
    val encoders
    val library

    output:
    path '*.{parquet,tsv,svg,png,json,md}', emit: results
    path 'versions.yml', emit: versions

    script:
    """
    summarise_fewshot.py ${results} --encoders ${encoders} \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch auroc.parquet auroc.tsv auroc_summary.parquet comparisons.parquet benchmark.md auroc_against_k.svg versions.yml
    """
}
