process CALIBRATE_ANNOTATION {
    label 'process_medium'

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path background, stageAs: 'background/*' // [] for OLGA's
    val settings // map: species, exclude_references, background_receptors, annotation_fdr, annotation_references, seed
    val library

    output:
    path 'reference', emit: reference // a file a class of chains that could be calibrated; may be empty
    path '{calibration,precision_recall,epitopes}.{parquet,tsv}', emit: tables
    path 'calibration.qc.json', emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    mkdir reference
    calibrate_annotation.py --cells ${cells} --receptors receptors --model ${weights ?: model} \\
        --species ${settings.species} --exclude-references '${settings.exclude_references}' \\
        ${background ? "--background ${background}" : ''} --background-receptors ${settings.background_receptors} \\
        --min-references ${settings.annotation_references} --fdr ${settings.annotation_fdr} \\
        --seed ${settings.seed} --cpus ${task.cpus} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    mkdir reference
    touch {calibration,precision_recall,epitopes}.{parquet,tsv} calibration.qc.json versions.yml
    """
}
