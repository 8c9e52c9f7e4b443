// Tables → samples of standardised cells and receptors, and the distinct receptors of the run.

include { NORMALISE_RECEPTORS                        } from '../../../modules/local/normalise_receptors/main'
include { NORMALISE_RECEPTORS as NORMALISE_REFERENCE } from '../../../modules/local/normalise_receptors/main'
include { COLLECT_RECEPTORS                          } from '../../../modules/local/collect_receptors/main'
include { byName                                     } from '../files/main'
include { batchesOfTables ; batchOf                   } from '../batches/main'
include { filesOfEach ; inOrder ; ofEach              } from '../batches/main'
include { samplesTogether                            } from '../batches/main'
include { failure ; withoutFailed                    } from '../advice/main'

workflow NORMALISE {
    take:
    tables   // channel: [ meta, table, column map or [] ]
    settings // map: parameters
    library  // map: script → value: digest of what it imports

    main:
    options = settings.subMap(['multichain', 'max_rejected', 'max_unpacked'])
    parts = tables.branch { meta, _table, _columns ->
        reference: meta.part == 'reference'
        samples: true
    }
    digest = library.normalise_receptors
    batches = parts.samples.toList().flatMap { rows -> batchesOfTables(rows) }
    NORMALISE_RECEPTORS(batches, options + settings.subMap(['partitions']), digest) // one task per batch of tables
    normalised = NORMALISE_RECEPTORS.out
    reference = channel.empty()
    failed = normalised.missing.flatten()
    versions = normalised.versions
    if (settings.reference) {
        NORMALISE_REFERENCE(parts.reference.map { row -> batchOf([row]) }, options + [partitions: 1], digest)
        made = NORMALISE_REFERENCE.out
        reference = ofEach(made.cells).join(ofEach(made.receptors)).join(ofEach(made.qc))
        failed = failed.mix(made.missing)
        versions = versions.mix(made.versions)
    }

    // Every task ends before the failure of one ends the run, so that all failures are reported at once.
    kept = ofEach(normalised.qc).map { meta, _qc -> meta }
    passed = byName(failed)
        .map { files -> [files] }
        .combine(kept.toList().map { metas -> [metas] })
        .map { files, metas -> checkFailures(files, metas, settings.failed_samples) }
        .first()
    samples = ofEach(normalised.cells).join(filesOfEach(normalised.receptors))
    samples = samples.combine(passed).map { meta, cells, receptors, _passed -> [meta, cells, receptors] }
    reference = reference.combine(passed).map { meta, cells, receptors, qc, _passed -> [meta, cells, receptors, qc] }

    // A partition is a range of clonotype_id: '' if there is one, else _0000, _0001, …
    divided_samples = samples.map { meta, _cells, receptors -> [meta, receptors] }
        .transpose()
        .map { meta, file -> [settings.partitions > 1 ? file.baseName.find(/_\d+$/) : '', meta.labelled, file] }
        .groupTuple()
        .map { name, labelled, files -> [name] + divided(labelled, files) }
    COLLECT_RECEPTORS(divided_samples, settings.shard_tokens, library.collect_receptors) // one task per partition

    receptors = byName(COLLECT_RECEPTORS.out.receptors.map { _partition, file -> file })
    partitions = COLLECT_RECEPTORS.out.receptors
    shards = COLLECT_RECEPTORS.out.shards.flatMap { name, files ->
        files.collect { file -> [groupKey(name, files.size()), files.size() == 1, file] }
    }
    batches = normalised.cells.join(normalised.chains)
        .combine(receptors.map { _files -> true }) // exports leave the cores to embedding, for which more tasks wait
        .map { metas, cells, chains, _collected -> inOrder(metas, [cells, chains]) }
    together = samplesTogether(batches)
    apart = normalised.gamma_delta_cells.join(normalised.gamma_delta_chains)
        .combine(passed)
        .map { metas, cells, chains, _passed -> inOrder(metas, [cells, chains]) }
    gamma_delta = samplesTogether(apart)
    qc = ofEach(normalised.qc).map { _meta, file -> file }
    collected = COLLECT_RECEPTORS.out.qc
    missing = failed
    versions = versions.mix(COLLECT_RECEPTORS.out.versions)

    emit:
    samples = samples // channel: [ meta, cells, [ receptors, one file per partition ] ]
    batches = batches // channel: [ metas, [ cells of each ], [ chains of each ] ], of each task
    together = together // value: [ meta, cells, chains ] of every sample; none without samples
    gamma_delta = gamma_delta // value: the same of γδ cells
    reference = reference // channel: [ meta, cells, receptors, qc ] of each table of --reference
    receptors = receptors // value: one file per partition
    partitions = partitions // channel: [ partition, receptors ]
    shards = shards // channel: [ partition, whether it is all of it, shard ], grouped by partition
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
    def ends = !kept.any { meta -> !meta.labelled } || failed.any { part -> part.part != 'sample' }
    if (failed && (ends || failedSamples == 'stop')) {
        def reasons = failure(failed.collect { part -> part.reason }, 'tables could not be read')
        error(ends ? reasons : reasons + withoutFailed(' -resume'))
    }
    failed.each { part -> log.warn("sample ${part.name} is left out: ${part.reason}") }
    return true
}
