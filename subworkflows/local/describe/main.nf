// Clones of all samples, what every count of cells is made of; each sample by itself: genes, lengths, diversity; the
// same of γδ cells, apart.

include { COMPARE_CONDITIONS } from '../../../modules/local/compare_conditions/main'
include { COUNT_CLONES       } from '../../../modules/local/count_clones/main'
include { DESCRIBE_CLONES    } from '../../../modules/local/describe_clones/main'
include { DESCRIBE_GAMMA_DELTA } from '../../../modules/local/describe_gamma_delta/main'
include { DESCRIBE_SAMPLES   } from '../../../modules/local/describe_samples/main'
include { byName             } from '../files/main'

workflow DESCRIBE {
    take:
    samples   // channel: [ meta, cells, [ receptors, one file per partition ] ]
    together  // value: [ meta, cells, chains ] of every sample; none without samples
    apart     // value: the same of γδ cells
    receptors // value: receptors of the run, one file per partition
    settings  // map: parameters
    library   // map: script → value: digest of what it imports

    main:
    labelled = samples.filter { meta, _cells, _receptors -> meta.labelled }.map { _meta, file, _receptors -> file }
    each = together.multiMap { rows ->
        cells: rows.collect { row -> row[1] }
        chains: rows.collect { row -> row[2] }
    }
    COUNT_CLONES(
        each.cells,
        each.chains,
        receptors,
        byName(labelled),
        settings.subMap(['clone_by']),
        library.count_clones,
    )
    clones = COUNT_CLONES.out.clones // value, as its inputs are
    DESCRIBE_SAMPLES(clones, settings.subMap(['compare_by']), library.describe_samples)

    others = apart.multiMap { rows ->
        cells: rows.collect { row -> row[1] }
        chains: rows.collect { row -> row[2] }
    }
    options = settings.subMap(['clone_by', 'cluster', 'cluster_method', 'seed'])
    DESCRIBE_GAMMA_DELTA(others.cells, others.chains, options, library.describe_gamma_delta)

    results = DESCRIBE_SAMPLES.out.tables.mix(DESCRIBE_SAMPLES.out.qc, COUNT_CLONES.out.qc).flatten()
    gamma_delta = DESCRIBE_GAMMA_DELTA.out.tables.mix(DESCRIBE_GAMMA_DELTA.out.qc).flatten()
    asked = clones.map { _files -> ['samples', 'all_samples'] }
        .mix(apart.map { _rows -> ['gamma_delta', 'all_samples'] })
    ended = DESCRIBE_SAMPLES.out.ended.mix(DESCRIBE_GAMMA_DELTA.out.ended)
    missing = DESCRIBE_SAMPLES.out.missing.mix(DESCRIBE_GAMMA_DELTA.out.missing)
    versions = COUNT_CLONES.out.versions.mix(DESCRIBE_SAMPLES.out.versions, DESCRIBE_GAMMA_DELTA.out.versions)

    emit:
    clones = clones // value: clones, counts, members, samples; none without samples
    results = results // channel: file
    gamma_delta = gamma_delta // channel: file
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}

// The table of clones that users get, with what the other branches say of them, and conditions compared by it.
workflow TABULATE {
    take:
    clones   // value: clones, counts, members, samples
    results  // map: described, annotation, calls, clusters, comparison, gamma_delta → channel of files
    settings // map: parameters
    library  // map: script → value: digest of what it imports

    main:
    grouped = ['clusters.parquet', 'members.parquet', 'clusters.qc.json']
    DESCRIBE_CLONES(
        clones,
        byName(results.calls),
        byName(results.annotation.filter { file -> file.name.endsWith('.annotation.qc.json') }),
        results.annotation.filter { file -> file.name == 'receptors.parquet' }.toList(),
        byName(results.clusters.filter { file -> file.name in grouped }),
        settings.subMap(['finetune']),
        library.describe_clones,
    )
    counts = clones.flatten().filter { file -> file.name == 'counts.parquet' }
    tabulated = DESCRIBE_CLONES.out.clones.mix(counts)
    clusters = results.clusters.mix(DESCRIBE_CLONES.out.references)
    comparison = results.comparison
    asked = channel.empty()
    ended = channel.empty()
    missing = channel.empty()
    versions = DESCRIBE_CLONES.out.versions
    if (settings.compare_by) {
        COMPARE_CONDITIONS(
            clones,
            DESCRIBE_CLONES.out.clones,
            tablesOf(results.described),
            tablesOf(results.comparison),
            tablesOf(results.gamma_delta),
            file(settings.input, glob: false),
            settings.subMap(['compare_by', 'compare_within', 'compare_permutations', 'seed']),
            library.compare_conditions,
        )
        comparison = comparison.mix(COMPARE_CONDITIONS.out.tables.mix(COMPARE_CONDITIONS.out.qc).flatten())
        asked = clones.map { _files -> ['conditions', 'all_samples'] }
        ended = COMPARE_CONDITIONS.out.ended
        missing = COMPARE_CONDITIONS.out.missing
        versions = versions.mix(COMPARE_CONDITIONS.out.versions)
    }

    emit:
    tabulated = tabulated // channel: clones, and their cells in each sample
    clusters = clusters // channel: file, with the references in the clusters
    comparison = comparison // channel: file, with the conditions
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}

// value: the Parquet files of a channel, sorted by their names
def tablesOf(files) {
    return byName(files.filter { file -> file.extension == 'parquet' })
}
