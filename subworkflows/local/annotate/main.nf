// Epitopes of receptors: labelled receptors become a reference set, calibrated once; each sample is compared with it.

include { MERGE_REFERENCES     } from '../../../modules/local/merge_references/main'
include { CALIBRATE_ANNOTATION } from '../../../modules/local/calibrate_annotation/main'
include { ANNOTATE_RECEPTORS   } from '../../../modules/local/annotate_receptors/main'
include { inBatches            } from '../batches/main'

workflow ANNOTATE {
    take:
    samples    // channel: [ meta, cells, [ receptors, one file per partition ] ]
    clones     // value: clones, counts, members, samples; none without samples
    hla        // value: map of sample → HLA of the donor, checked; '' if unknown
    reference  // channel: [ meta, cells, receptors, qc ] of each table of --reference
    embeddings // value: the vectors of the run by the model below, or []
    model      // value: [ name, folder or [] ], not fine-tuned on the reference set
    settings   // map: parameters
    library    // map: script → value: digest of what it imports

    main:
    unlabelled = samples.filter { meta, _cells, _receptors -> !meta.labelled }
    // One table is the reference as it is; several are merged. The tables of the merge are published for both.
    given = reference.toSortedList { a, b -> a[0].id <=> b[0].id }.filter { rows -> rows }
    MERGE_REFERENCES(
        given.map { rows -> [rows.collect { row -> row[0].id }, rows.collectMany { row -> row[1..3] }] },
        library.merge_references,
    )
    single = given.filter { rows -> rows.size() == 1 }.map { rows -> rows[0][0..2] }
    merged = MERGE_REFERENCES.out.reference.combine(given.map { rows -> [rows] })
        .filter { _cells, _receptors, rows -> rows.size() > 1 }
        .map { cells, receptors, rows -> [rows[0][0] + [id: 'reference'], cells, receptors] }
    labelled = samples.filter { meta, _cells, _receptors -> meta.labelled }
    references = settings.reference ? single.mix(merged) : labelled
    // Each species of the samples is compared with references of its own.
    species = unlabelled
        .map { meta, _cells, _receptors -> meta.species ?: settings.species }
        .unique()
        .toSortedList()
        .map { found -> found ?: [settings.species] }
    calibration = settings.subMap(['exclude_references', 'background_receptors', 'background_digest', 'seed'])
    calling = settings.subMap(['annotation_fdr', 'annotate_innate', 'model_digest'])
    CALIBRATE_ANNOTATION(
        references,
        model,
        settings.background ? file(settings.background, glob: false, checkIfExists: true) : [],
        species,
        calibration + calling + settings.subMap(['annotation_references']),
        library.calibrate_annotation,
    )
    calibrated = CALIBRATE_ANNOTATION.out.reference.first()
    in_order = unlabelled.toSortedList { a, b -> a[0].id <=> b[0].id }.map { rows -> [rows] }
    ANNOTATE_RECEPTORS( // one task per batch of samples
        in_order.combine(hla).flatMap { rows, typings -> batched(rows, typings) },
        clones,
        embeddings,
        model,
        calibrated,
        calling + settings.subMap(['epitopes']),
        library.annotate_receptors,
    )

    calls = ANNOTATE_RECEPTORS.out.tables.flatten().filter { file -> file.name.endsWith('.parquet') }
    results = CALIBRATE_ANNOTATION.out.tables.mix(CALIBRATE_ANNOTATION.out.qc, ANNOTATE_RECEPTORS.out.qc).flatten()
    asked = references.map { _row -> ['annotation', 'reference'] }
        .mix(given.map { _rows -> ['annotation', 'merged_reference'] })
        .mix(unlabelled.combine(CALIBRATE_ANNOTATION.out.reference).map { row -> ['annotation', row[0].id] })
    ended = CALIBRATE_ANNOTATION.out.ended.mix(MERGE_REFERENCES.out.ended, ANNOTATE_RECEPTORS.out.ended.transpose())
    missing = CALIBRATE_ANNOTATION.out.missing.mix(MERGE_REFERENCES.out.missing, ANNOTATE_RECEPTORS.out.missing)
    versions = CALIBRATE_ANNOTATION.out.versions.mix(MERGE_REFERENCES.out.versions, ANNOTATE_RECEPTORS.out.versions)

    emit:
    calls = calls // channel: file per sample
    results = results // channel: file
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}

// Rows [ ids, typings, cores, cells, receptors ]. One sample of more than about 40,000 cells takes all cores that a
// task of its kind gains from; tasks of several take one each.
def batched(samples, typings) {
    def sizes = samples.collect { row -> row[1].size() }
    def cores = samples.size() == 1 && sizes[0] > 2_000_000 ? 4 : 1
    return inBatches(samples, sizes, 8_000_000, samples.size()).collect { rows ->
        def ids = rows.collect { row -> row[0].id }
        [ids, ids.collect { id -> typings[id] ?: '' }, cores, rows.collect { row -> row[1] }, rows.collectMany { row -> row[2] }]
    }
}
