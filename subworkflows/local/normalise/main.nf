// All tables standardised, each by a task; then one look at those that could not be.

include { NORMALISE_RECEPTORS                        } from '../../../modules/local/normalise_receptors/main'
include { NORMALISE_RECEPTORS as NORMALISE_REFERENCE } from '../../../modules/local/normalise_receptors/main'
include { failure                                    } from '../conclude/main'

workflow NORMALISE {
    take:
    tables   // channel: [ meta, table, column map or [] ]
    settings // map: params
    library

    main:
    options = settings.subMap(['multichain', 'max_rejected', 'max_unpacked'])
    parts = tables.branch { meta, _table, _columns ->
        reference: meta.id == 'reference'
        samples: true
    }
    NORMALISE_RECEPTORS(parts.samples, options + settings.subMap(['partitions']), library) // one task a table
    NORMALISE_REFERENCE(parts.reference, options + [partitions: 1], library)

    // Every task has ended before a failure of one ends the run, so that all are told at once.
    missing = NORMALISE_RECEPTORS.out.missing.mix(NORMALISE_REFERENCE.out.missing)
    kept = NORMALISE_RECEPTORS.out.qc.map { meta, _qc -> meta }
    passed = missing.toSortedList { a, b -> a.name <=> b.name }
        .map { files -> [files] }
        .combine(kept.toList().map { metas -> [metas] })
        .map { files, metas -> checkFailures(files, metas, settings.failed_samples) }
        .first()

    normalised = NORMALISE_RECEPTORS.out.cells.join(NORMALISE_RECEPTORS.out.receptors).combine(passed).map { meta, cells, receptors, _passed -> [meta, cells, receptors] }
    reference = NORMALISE_REFERENCE.out.cells.join(NORMALISE_REFERENCE.out.receptors).combine(passed).map { meta, cells, receptors, _passed -> [meta, cells, receptors] }
    qc = NORMALISE_RECEPTORS.out.qc.map { _meta, file -> file }
    versions = NORMALISE_RECEPTORS.out.versions.mix(NORMALISE_REFERENCE.out.versions)

    emit:
    normalised // channel: [ meta, cells, [ receptors, a file a partition ] ]
    reference // channel: the same of --reference
    qc // channel: file
    missing // channel: file
    versions
}

// The end of the run where a table failed that it cannot go on without.
def checkFailures(files, kept, failedSamples) {
    def failed = files.collectMany { file -> new groovy.json.JsonSlurperClassic().parseText(file.text) }
    def none = failed && !kept.any { meta -> !meta.labelled }
    if (failed && (failedSamples == 'stop' || none || failed.any { part -> part.part != 'sample' })) {
        error(failure(failed.collect { part -> part.reason }, 'tables could not be read'))
    }
    failed.each { part -> log.warn("sample ${part.name} is left out: ${part.reason}") }
    return true
}
