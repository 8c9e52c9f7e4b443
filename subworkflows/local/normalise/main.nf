// Tables → samples of standardised cells and receptors, and the distinct receptors of the run.

include { NORMALISE_RECEPTORS                        } from '../../../modules/local/normalise_receptors/main'
include { NORMALISE_RECEPTORS as NORMALISE_REFERENCE } from '../../../modules/local/normalise_receptors/main'
include { COLLECT_RECEPTORS                          } from '../../../modules/local/collect_receptors/main'
include { byName                                     } from '../files/main'
include { digestOf                                   } from '../digest/main'
include { failure                                    } from '../advice/main'

workflow NORMALISE {
    take:
    tables   // channel: [ meta, table, column map or [] ]
    settings // map: parameters
    library  // value: script → digest of what it imports

    main:
    options = settings.subMap(['multichain', 'max_rejected', 'max_unpacked'])
    parts = tables.branch { meta, _table, _columns ->
        reference: meta.part == 'reference'
        samples: true
    }
    digest = digestOf(library, 'normalise_receptors')
    NORMALISE_RECEPTORS(parts.samples, options + settings.subMap(['partitions']), digest) // one task per table
    reference = channel.empty()
    failed = NORMALISE_RECEPTORS.out.missing
    versions = NORMALISE_RECEPTORS.out.versions
    if (settings.reference) {
        NORMALISE_REFERENCE(parts.reference, options + [partitions: 1], digest)
        reference = NORMALISE_REFERENCE.out.cells.join(NORMALISE_REFERENCE.out.receptors).join(NORMALISE_REFERENCE.out.qc)
        failed = failed.mix(NORMALISE_REFERENCE.out.missing)
        versions = versions.mix(NORMALISE_REFERENCE.out.versions)
    }

    // Every task ends before the failure of one ends the run, so that all failures are reported at once.
    kept = NORMALISE_RECEPTORS.out.qc.map { meta, _qc -> meta }
    passed = byName(failed)
        .map { files -> [files] }
        .combine(kept.toList().map { metas -> [metas] })
        .map { files, metas -> checkFailures(files, metas, settings.failed_samples) }
        .first()
    samples = NORMALISE_RECEPTORS.out.cells.join(NORMALISE_RECEPTORS.out.receptors)
    samples = samples.combine(passed).map { meta, cells, receptors, _passed -> [meta, cells, receptors] }
    reference = reference.combine(passed).map { meta, cells, receptors, qc, _passed -> [meta, cells, receptors, qc] }

    // A partition is a range of clonotype_id: '' if there is one, else _0000, _0001, …
    divided_samples = samples.map { meta, _cells, receptors -> [meta, receptors] }
        .transpose()
        .map { meta, file -> [settings.partitions > 1 ? file.baseName.find(/_\d+$/) : '', meta.labelled, file] }
        .groupTuple()
        .map { name, labelled, files -> [name] + divided(labelled, files) }
    COLLECT_RECEPTORS(divided_samples, settings.shard_tokens, digestOf(library, 'collect_receptors')) // one task per partition

    receptors = byName(COLLECT_RECEPTORS.out.receptors.map { _partition, file -> file })
    partitions = COLLECT_RECEPTORS.out.receptors
    shards = COLLECT_RECEPTORS.out.shards.flatMap { name, files -> files.collect { file -> [groupKey(name, files.size()), file] } }
    chains = NORMALISE_RECEPTORS.out.chains
    qc = NORMALISE_RECEPTORS.out.qc.map { _meta, file -> file }
    collected = COLLECT_RECEPTORS.out.qc
    missing = failed
    versions = versions.mix(COLLECT_RECEPTORS.out.versions)

    emit:
    samples = samples // channel: [ meta, cells, [ receptors, one file per partition ] ]
    chains = chains // channel: [ meta, chains ]
    reference = reference // channel: [ meta, cells, receptors, qc ] of each table of --reference
    receptors = receptors // value: one file per partition
    partitions = partitions // channel: [ partition, receptors ]
    shards = shards // channel: [ partition, shard ], grouped by partition
    qc = qc // channel: file
    collected = collected // channel: file
    missing = missing // channel: file
    versions = versions
}

// Files of samples, sorted, and files of the labelled table.
def divided(labelled, files) {
    def pairs = [labelled, files].transpose()
    def ofSamples = pairs.findAll { isLabelled, _file -> !isLabelled }.collect { _isLabelled, file -> file }
    return [ofSamples.sort { file -> file.name }, files - ofSamples]
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
