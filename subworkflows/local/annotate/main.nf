// What receptors may bind: labelled receptors become a reference, calibrated once; each sample is compared with it.

include { CALIBRATE_ANNOTATION } from '../../../modules/local/calibrate_annotation/main'
include { ANNOTATE_RECEPTORS   } from '../../../modules/local/annotate_receptors/main'

workflow ANNOTATE {
    take:
    normalised // channel: [ meta, cells, [ receptors, a file a partition ] ]
    reference  // channel: the same of --reference, if it is given
    embeddings // value: the vectors of the run by the model below, or []
    model      // value: [ name, folder or [] ], one that has not been fine-tuned on the reference
    settings   // map: params
    library

    main:
    is_asked = settings.annotate.toString().toBoolean()
    // Each species that samples are of is compared with the references of its own.
    species = normalised
        .filter { meta, _cells, _receptors -> !meta.labelled }
        .map { meta, _cells, _receptors -> meta.species ?: settings.species }
        .unique()
        .toSortedList()
        .map { found -> found ?: [settings.species] }
    references = is_asked && settings.reference ? reference : normalised.filter { meta, _cells, _receptors -> is_asked && meta.labelled }
    CALIBRATE_ANNOTATION(
        references,
        model,
        is_asked && settings.background ? file(settings.background, glob: false, checkIfExists: true) : [],
        species,
        settings.subMap(['exclude_references', 'background_receptors', 'annotation_fdr', 'annotation_references', 'seed', 'background_digest', 'model_digest']),
        library,
    )
    annotated = normalised.filter { meta, _cells, _receptors -> is_asked && !meta.labelled }
    ANNOTATE_RECEPTORS( // one task a sample
        annotated,
        embeddings,
        model,
        CALIBRATE_ANNOTATION.out.reference.first(),
        settings.subMap(['annotation_fdr', 'model_digest']),
        library,
    )

    calls = ANNOTATE_RECEPTORS.out.tables.flatten().filter { file -> file.name.endsWith('.parquet') }
    results = CALIBRATE_ANNOTATION.out.tables.mix(CALIBRATE_ANNOTATION.out.qc, ANNOTATE_RECEPTORS.out.qc).flatten()
    versions = CALIBRATE_ANNOTATION.out.versions.mix(ANNOTATE_RECEPTORS.out.versions)

    asked = references.map { _meta, _cells, _receptors -> ['annotation', 'reference'] }
        .mix(annotated.combine(CALIBRATE_ANNOTATION.out.reference).map { row -> ['annotation', row[0].id] })
    ended = CALIBRATE_ANNOTATION.out.ended.mix(ANNOTATE_RECEPTORS.out.ended)
    missing = CALIBRATE_ANNOTATION.out.missing.mix(ANNOTATE_RECEPTORS.out.missing)

    emit:
    asked // channel: [ part, name ]
    ended // channel: [ part, name ]
    missing // channel: file
    calls // channel: file, a sample each
    results // channel: file
    versions
}
