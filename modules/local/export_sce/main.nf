process EXPORT_SCE {
    tag "${name}"
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(name), path(cells), path(names) // of one sample or of several
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'

    output:
    tuple val(name), path("${prefix}.rds"), emit: experiment
    tuple val('export'), val("${name}.rds"), emit: ended
    path 'versions.yml', emit: versions

    script:
    prefix = task.ext.prefix ?: "${name}"
    """
    export_sce.R ${cells} --names ${names} --receptors receptors --embeddings embeddings \\
        --out ${prefix}.rds --process ${task.process} --versions versions.yml
    """

    stub:
    prefix = task.ext.prefix ?: "${name}"
    """
    touch ${prefix}.rds versions.yml
    """
}
