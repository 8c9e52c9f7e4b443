// What receptors may bind: labelled receptors become a reference, calibrated once; each sample is compared with it.

include { NORMALISE_RECEPTORS as NORMALISE_REFERENCE } from '../../../modules/local/normalise_receptors/main'
include { CALIBRATE_ANNOTATION                       } from '../../../modules/local/calibrate_annotation/main'
include { ANNOTATE_RECEPTORS                         } from '../../../modules/local/annotate_receptors/main'

workflow ANNOTATE {
    take:
    normalised // channel: [ meta, cells, [ receptors, a file a partition ] ]
    embeddings // value: the vectors of the run by the model below, or []
    model      // value: [ name, folder or [] ], one that has not been fine-tuned on the reference
    settings   // map: params
    library

    main:
    asked = settings.annotate.toString().toBoolean()
    table = asked && settings.reference
        ? [[[id: 'reference', format: settings.reference_format ?: '', labelled: true, metadata: [:]], file(settings.reference), settings.reference_columns ? file(settings.reference_columns) : []]]
        : []
    NORMALISE_REFERENCE(channel.fromList(table), settings.subMap(['species', 'multichain', 'max_rejected']) + [partitions: 1], library)
    own = NORMALISE_REFERENCE.out.cells.join(NORMALISE_REFERENCE.out.receptors)

    CALIBRATE_ANNOTATION(
        table ? own : normalised.filter { meta, _cells, _receptors -> asked && meta.labelled },
        model,
        asked && settings.background ? file(settings.background, glob: false, checkIfExists: true) : [],
        settings.subMap(['species', 'exclude_references', 'background_receptors', 'annotation_fdr', 'annotation_references', 'seed']),
        library,
    )
    ANNOTATE_RECEPTORS( // one task a sample
        normalised.filter { meta, _cells, _receptors -> asked && !meta.labelled },
        embeddings,
        model,
        CALIBRATE_ANNOTATION.out.reference.first(),
        settings.subMap(['species', 'annotation_fdr']),
        library,
    )

    calls = ANNOTATE_RECEPTORS.out.tables.flatten().filter { file -> file.name.endsWith('.parquet') }
    results = CALIBRATE_ANNOTATION.out.tables.mix(CALIBRATE_ANNOTATION.out.qc, ANNOTATE_RECEPTORS.out.qc).flatten()
    versions = NORMALISE_REFERENCE.out.versions.mix(CALIBRATE_ANNOTATION.out.versions, ANNOTATE_RECEPTORS.out.versions)

    emit:
    calls // channel: file, a sample each
    results // channel: file
    versions
}
