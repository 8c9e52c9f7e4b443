process EXPORT_SCE {
    tag "${name}"
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(name), path(columns) // of one sample or of several
    path(functions, stageAs: 'functions/*') // R functions for users

    output:
    tuple(val(name), path("${prefix}.rds"), emit: experiment)
    path('match_barcodes.R', emit: functions, optional: true) // from one of the tasks
    tuple(val('export'), val("${name}.rds"), emit: ended)
    path('versions.yml', emit: versions)

    script:
    prefix = task.ext.prefix ?: "${name}"
    """
    export_sce.R ${columns} --out ${prefix}.rds --process ${task.process} --versions versions.yml
    ${name == 'all_samples' ? "cp ${functions} match_barcodes.R" : ''}
    """

    stub:
    prefix = task.ext.prefix ?: "${name}"
    """
    touch ${prefix}.rds versions.yml ${name == 'all_samples' ? 'match_barcodes.R' : ''}
    """
}
