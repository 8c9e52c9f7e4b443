process ANALYSE_GENERATION {
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    val settings // map: species, exclude_references, analysis_receptors, benchmark_min_positives, seed
    val library

    output:
    path('generation_probability.parquet', emit: probabilities, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('analysis'), val('generation.probabilities'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    analyse_generation.py --cells ${cells} --receptors receptors --species ${settings.species} \\
        --exclude-references '${settings.exclude_references}' --analysis-receptors ${settings.analysis_receptors} \\
        --benchmark-min-positives ${settings.benchmark_min_positives} --seed ${settings.seed} \\
        --missing missing/generation.probabilities.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch generation_probability.parquet versions.yml
    """
}
