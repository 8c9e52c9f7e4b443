process EXPORT_SCE {
    tag "${name}"
    label 'process_medium'

    input:
    tuple val(name), path(cells) // of one sample or of several
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'

    output:
    tuple val(name), path("${name}.rds"), emit: experiment
    path 'versions.yml', emit: versions

    script:
    """
    command -v Rscript > /dev/null || {
        echo 'ERROR: there is no Rscript. Install R with arrow, dplyr, optparse and SingleCellExperiment, or run this process in the image of containers/r, e.g. with -profile docker.' >&2
        exit 1
    }
    export_sce.R ${cells} --receptors receptors --embeddings embeddings --out ${name}.rds \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${name}.rds versions.yml
    """
}
