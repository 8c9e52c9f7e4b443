// All samples together: clusters of receptors, and samples beside each other; each if it is asked for.

include { CLUSTER_RECEPTORS } from '../../../modules/local/cluster_receptors/main'
include { COMPARE_SAMPLES   } from '../../../modules/local/compare_samples/main'

workflow REPERTOIRE {
    take:
    normalised // channel: [ meta, cells, [ receptors, a file a partition ] ]
    receptors  // value: the receptors of the run, a file a partition
    embeddings // value: their vectors, a file a partition
    model      // value: [ name, folder or [] ], the one that made them
    settings   // map: params
    library

    main:
    parts = normalised.branch { meta, cells, _receptors ->
        labelled: meta.labelled
            return cells
        samples: true
            return cells
    }
    background = settings.background ? file(settings.background, glob: false, checkIfExists: true) : []
    options = settings.subMap(['cluster_method', 'cluster_chance', 'condition', 'abundance', 'compare_receptors', 'compare_permutations', 'seed', 'background_digest', 'model_digest'])
    cells = parts.samples.toSortedList { a, b -> a.name <=> b.name }
    clustered = cells.filter { _files -> settings.cluster.toString().toBoolean() }
    compared = cells.filter { _files -> settings.compare.toString().toBoolean() }
    CLUSTER_RECEPTORS(
        clustered,
        parts.labelled.toList(),
        receptors,
        embeddings,
        model,
        background,
        options.findAll { name, _value -> !name.startsWith('compare') },
        library,
    )
    COMPARE_SAMPLES(
        compared,
        receptors,
        embeddings,
        model,
        background,
        options.findAll { name, _value -> name != 'cluster_method' },
        library,
    )

    clusters = CLUSTER_RECEPTORS.out.tables.mix(CLUSTER_RECEPTORS.out.logos, CLUSTER_RECEPTORS.out.qc).flatten()
    comparison = COMPARE_SAMPLES.out.tables.mix(COMPARE_SAMPLES.out.qc).flatten()
    versions = CLUSTER_RECEPTORS.out.versions.mix(COMPARE_SAMPLES.out.versions)

    asked = clustered.map { _files -> ['clusters', 'all_samples'] }.mix(compared.map { _files -> ['comparison', 'all_samples'] })
    ended = CLUSTER_RECEPTORS.out.ended.mix(COMPARE_SAMPLES.out.ended)
    missing = CLUSTER_RECEPTORS.out.missing.mix(COMPARE_SAMPLES.out.missing)

    emit:
    asked // channel: [ part, name ]
    ended // channel: [ part, name ]
    missing // channel: file
    clusters // channel: file
    comparison // channel: file
    versions
}
