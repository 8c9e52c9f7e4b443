// Before any other task: the samplesheet's rules, and the beginning of every table.

include { CHECK_SAMPLES } from '../../../modules/local/check_samples/main'
include { failure       } from '../conclude/main'

workflow CHECK {
    take:
    tables   // list of maps: part, line, path, format, species, table, map, looked, problem; tablesOfRun makes it
    settings // map: params
    library

    main:
    looked = tables.findAll { entry -> entry.looked }
    maps = tables.findAll { entry -> entry.map }.collect { entry -> entry.map }.unique()
    numbers = looked.withIndex(1).collectEntries { entry, number -> [entry.key, number] }
    CHECK_SAMPLES(
        settings.input ? file(settings.input.toString(), glob: false) : [],
        looked.collect { entry -> entry.table },
        maps,
        [
            species: settings.species,
            condition: settings.condition?.toString(),
            max_unpacked: settings.max_unpacked as Double,
            tables: tables.collect { entry -> entry.subMap(['part', 'line', 'path', 'format', 'species', 'problem']) + [table: numbers[entry.key], columns: entry.map ? maps.indexOf(entry.map) + 1 : null] },
        ],
        library,
    )
    found = CHECK_SAMPLES.out.checked.map { path -> accepted(new groovy.json.JsonSlurperClassic().parseText(path.text), tables, settings.failed_samples) }
    checked = found.flatMap { list -> list }
    passed = found.map { _list -> library }
    missing = CHECK_SAMPLES.out.missing
    versions = CHECK_SAMPLES.out.versions

    emit:
    checked // channel: [ meta, table, column map or [] ]; meta: id, format, species, labelled, metadata
    passed // value: library, once nothing ends the run
    missing // channel: file
    versions
}

// The tables that the run goes on with, or its end.
def accepted(found, tables, failedSamples) {
    def left = found.tables.collect { entry -> tables[entry.number] + entry }
    def none = tables.any { entry -> entry.part == 'sample' } && !left.any { entry -> entry.part == 'sample' }
    if (found.problems && (failedSamples == 'stop' || none || found.problems.any { problem -> !problem.sample })) {
        error(failure(found.problems.collect { problem -> problem.reason }, 'problems in the input'))
    }
    found.problems.each { problem -> log.warn("sample ${problem.sample} is left out: ${problem.reason}") }
    return left.collect { entry -> [[id: entry.id, format: entry.format, species: entry.species, labelled: entry.part != 'sample', metadata: entry.metadata], entry.table, entry.map] }
}
