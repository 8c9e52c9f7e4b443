process ANALYSE_RECEPTORS {
    tag "${analysis} ${encoder}"
    label 'process_medium'
    label 'process_optional'
    ext(torch: { weights ? true : false }) // language models come with their weights
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*'), val(analysis), path(generation), val(encoder), path(own, stageAs: 'own/*'), path(weights, stageAs: 'weights'), val(digest)
    val settings // map: species, exclude_references, analysis_receptors, benchmark_min_positives, seed, finetune_*
    val library

    output:
    tuple(val(analysis), path("${analysis}.*.measured.parquet"), emit: measured, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('analysis'), val("${analysis}.${encoder ?: 'none'}"), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    analyse_receptors.py --cells ${cells} --receptors receptors --analysis ${analysis} \\
        ${encoder ? "--encoder ${own ?: encoder} --name ${encoder}" : ''} \\
        ${weights ? '--hub-cache weights' : ''} \\
        ${generation ? "--generation ${generation}" : ''} \\
        --species ${settings.species} --exclude-references '${settings.exclude_references}' \\
        --analysis-receptors ${settings.analysis_receptors} --benchmark-min-positives ${settings.benchmark_min_positives} \\
        --finetune-split ${settings.finetune_split} --finetune-per-epitope ${settings.finetune_per_epitope} \\
        --finetune-min-receptors ${settings.finetune_min_receptors} --seed ${settings.seed} \\
        --threads ${task.cpus} --missing missing/${analysis}.${encoder ?: 'none'}.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${analysis}.${encoder ?: 'none'}.measured.parquet versions.yml
    """
}
