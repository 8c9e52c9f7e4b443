// Checks before all other tasks: the samplesheet's rules, the beginning of every table, and what R, training and GPUs need.

include { CHECK_SAMPLES } from '../../../modules/local/check_samples/main'
include { CHECK_R       } from '../../../modules/local/check_r/main'
include { CHECK_DEVICE  } from '../../../modules/local/check_device/main'
include { failure ; withoutFailed } from '../advice/main'

workflow CHECK {
    take:
    tables   // list of maps: part, line, path, format, species, table, map, looked, problem; tablesOfRun makes it
    settings // map: parameters
    plan     // map: what is learnt and measured; planRun makes it
    library  // map: script → digest of what it imports

    main:
    looked = tables.findAll { entry -> entry.looked }
    maps = tables.findAll { entry -> entry.map }.collect { entry -> entry.map }.unique()
    CHECK_SAMPLES(
        settings.input ? file(settings.input, glob: false) : [],
        looked.collect { entry -> entry.table },
        maps,
        settings.subMap(['species', 'compare_by', 'compare_within', 'max_unpacked']) + [tables: described(tables, looked, maps)],
        library.check_samples,
    )
    accepted = CHECK_SAMPLES.out.checked.map { path -> acceptedTables(path, tables, settings.failed_samples) }
    versions = CHECK_SAMPLES.out.versions

    ready = accepted.map { _list -> true }
    if (settings.export_sce) {
        CHECK_R(true)
        ready = ready.combine(CHECK_R.out.checked).map { _both -> true }.first()
    }
    on_device = ready // training and embedding wait for the check of extras and GPUs
    onGpu = settings.device == 'gpu' || (settings.device == 'auto' && workflow.profile.tokenize(',').contains('gpu'))
    if (onGpu || plan.extras) {
        needed = [device: onGpu ? settings.device : 'cpu', train_devices: settings.train_devices, extras: plan.extras]
        CHECK_DEVICE(needed, ready.map { _ready -> library.check_device })
        CHECK_DEVICE.out.found.subscribe { sentence -> logSentence(sentence.trim()) }
        on_device = ready.combine(CHECK_DEVICE.out.found).map { _both -> true }.first()
        versions = versions.mix(CHECK_DEVICE.out.versions)
    }

    checked = accepted.flatMap { list -> list.collect { meta, table, map, _hla -> [meta, table, map] } }
    // Apart from meta, so that tasks before the annotation do not repeat where a typing changes.
    hla = accepted.map { list -> list.collectEntries { meta, _table, _map, typing -> [meta.id, typing] } }
    missing = CHECK_SAMPLES.out.missing

    emit:
    checked = checked // channel: [ meta, table, column map or [] ]; meta: id, part, format, species, row_unit, count_unit, labelled, metadata
    hla = hla // value: map of sample → HLA of the donor, checked; '' if unknown
    ready = ready // value: true, once nothing ends the run
    on_device = on_device // value: the same, once the device has been checked too
    missing = missing // channel: file
    versions = versions
}

// What check_samples.py takes: tables and column maps by their numbers, from 1.
def described(tables, looked, maps) {
    def numbers = looked.withIndex(1).collectEntries { entry, number -> [entry.key, number] }
    return tables.collect { entry ->
        def words = entry.subMap(['part', 'line', 'path', 'format', 'species', 'problem'])
        words + [table: numbers[entry.key], column_map: entry.map ? maps.indexOf(entry.map) + 1 : null]
    }
}

// The tables that the run goes on with, or its end.
def acceptedTables(path, tables, failedSamples) {
    def found = new groovy.json.JsonSlurperClassic().parseText(path.text)
    def left = found.tables.collect { entry -> tables[entry.number] + entry }
    def none = tables.any { entry -> entry.part == 'sample' } && !left.any { entry -> entry.part == 'sample' }
    def ends = none || found.problems.any { problem -> !problem.sample }
    if (found.problems && (ends || failedSamples == 'stop')) {
        def reasons = failure(found.problems.collect { problem -> problem.reason }, 'problems in the input')
        error(ends ? reasons : reasons + withoutFailed())
    }
    found.notes.each { note -> log.warn(note) }
    found.problems.each { problem -> log.warn("sample ${problem.sample} is left out: ${problem.reason}") }
    return left.collect { entry ->
        def meta = entry.subMap(['id', 'part', 'format', 'species', 'row_unit', 'count_unit', 'metadata']) + [labelled: entry.part != 'sample']
        [meta, entry.table, entry.map, entry.hla]
    }
}

def logSentence(sentence) {
    if (!sentence) {
        return
    }
    sentence.startsWith('WARNING: ') ? log.warn(sentence - 'WARNING: ') : log.info(sentence)
}
