process SUMMARISE_FEWSHOT {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path results
    val encoders
    val library

    output:
    path('*.{parquet,tsv,svg,png,json,md}', emit: results, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('benchmark'), val('summary'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    """
    summarise_fewshot.py ${results} --encoders ${encoders} \\
        --missing missing/summary.missing.json \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch auroc.parquet auroc.tsv splits.parquet benchmark_receptors.parquet auroc_summary.parquet comparisons.parquet benchmark.md auroc_against_k.svg versions.yml
    """
}
