process CALIBRATE_ANNOTATION {
    label 'process_parallel'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path(background, stageAs: 'background/*') // [] for OLGA's
    val species // list of those of the samples
    val settings // map: exclude_references, background_receptors, annotation_fdr, annotate_innate, annotation_references, seed, background_digest, model_digest
    val library

    output:
    path('reference', emit: reference, optional: true) // a file a class of chains that could be calibrated; may be empty
    path('{calibration,precision_recall,epitopes,receptors,suspect_labels,same_studies}.{parquet,tsv}', emit: tables, optional: true)
    path('calibration.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('annotation'), val('reference'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    // The folder of finished calibrations, AIRRVEC_CALIBRATIONS, is no input: results are the same without it.
    """
    mkdir reference
    calibrate_annotation.py --cells ${cells} --receptors receptors --model ${weights ?: model} \\
        --species ${species.join(' ')} --exclude-references '${settings.exclude_references}' \\
        ${background ? "--background ${background}" : ''} --background-receptors ${settings.background_receptors} \\
        --annotation-references ${settings.annotation_references} --annotation-fdr ${settings.annotation_fdr} \\
        ${settings.annotate_innate ? '--annotate-innate' : ''} \\
        --seed ${settings.seed} --threads ${task.cpus} --missing missing/reference.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    [[ ! -e missing/reference.missing.json ]] || rm -r reference
    """

    stub:
    """
    mkdir reference
    touch {calibration,precision_recall,epitopes,receptors,suspect_labels,same_studies}.{parquet,tsv} calibration.qc.json versions.yml
    """
}
