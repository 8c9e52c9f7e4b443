// All samples together: clusters of receptors, also beside the donors' HLA, and comparisons of samples.

include { ASSOCIATE_HLA     } from '../../../modules/local/associate_hla/main'
include { CLUSTER_RECEPTORS } from '../../../modules/local/cluster_receptors/main'
include { COMPARE_SAMPLES   } from '../../../modules/local/compare_samples/main'
include { EMBED_BACKGROUND  } from '../../../modules/local/embed_background/main'
include { byName            } from '../files/main'

workflow REPERTOIRE {
    take:
    samples    // channel: [ meta, cells, [ receptors, one file per partition ] ]
    clones     // value: clones, counts, members, samples
    hla        // value: map of sample → HLA of the donor, checked; '' if unknown
    receptors  // value: receptors of the run, one file per partition
    embeddings // value: their vectors, one file per partition
    model      // value: [ name, folder or [] ], the one that made them
    settings   // map: parameters
    library    // map: script → value: digest of what it imports

    main:
    cells = samples.branch { meta, file, _receptors ->
        labelled: meta.labelled
            return file
        unlabelled: true
            return file
    }
    compared = byName(cells.unlabelled)
    background = settings.background ? file(settings.background, glob: false, checkIfExists: true) : []
    EMBED_BACKGROUND(
        clones,
        receptors,
        embeddings,
        model,
        background,
        settings.subMap(['cluster_chance', 'seed', 'background_digest', 'model_digest']),
        library.embed_background,
    )
    groups = EMBED_BACKGROUND.out.groups
    common = settings.subMap(['cluster_chance', 'seed'])
    clusters = channel.empty()
    comparison = channel.empty()
    asked = clones.map { _files -> ['background', 'all_samples'] }
    ended = EMBED_BACKGROUND.out.ended
    missing = EMBED_BACKGROUND.out.missing
    versions = EMBED_BACKGROUND.out.versions
    if (settings.cluster) {
        CLUSTER_RECEPTORS(
            clones,
            compared,
            cells.labelled.toList(),
            receptors,
            embeddings,
            groups,
            common + settings.subMap(['cluster_method']),
            library.cluster_receptors,
        )
        clusters = CLUSTER_RECEPTORS.out.tables.mix(CLUSTER_RECEPTORS.out.logos, CLUSTER_RECEPTORS.out.qc).flatten()
        asked = asked.mix(clones.map { _files -> ['clusters', 'all_samples'] })
        ended = ended.mix(CLUSTER_RECEPTORS.out.ended)
        missing = missing.mix(CLUSTER_RECEPTORS.out.missing)
        versions = versions.mix(CLUSTER_RECEPTORS.out.versions)
        typed = hla.filter { typings -> typings.any { _name, typing -> typing } }
        beside = CLUSTER_RECEPTORS.out.tables.combine(typed.map { _typings -> true })
            .map { row -> row.findAll { file -> file != true && file.name in ['clusters.parquet', 'members.parquet'] } }
        ASSOCIATE_HLA(
            clones,
            beside,
            settings.input ? file(settings.input, glob: false) : [],
            settings.subMap(['hla_fields', 'compare_within']),
            library.associate_hla,
        )
        clusters = clusters.mix(ASSOCIATE_HLA.out.tables.mix(ASSOCIATE_HLA.out.qc).flatten())
        asked = asked.mix(beside.map { _files -> ['hla', 'all_samples'] })
        ended = ended.mix(ASSOCIATE_HLA.out.ended)
        missing = missing.mix(ASSOCIATE_HLA.out.missing)
        versions = versions.mix(ASSOCIATE_HLA.out.versions)
    }
    if (settings.compare) {
        COMPARE_SAMPLES(
            clones,
            receptors,
            embeddings,
            groups,
            common + settings.subMap(['compare_by', 'compare_receptors', 'compare_permutations', 'compare_weights']),
            library.compare_samples,
        )
        comparison = COMPARE_SAMPLES.out.tables.mix(COMPARE_SAMPLES.out.qc).flatten()
        asked = asked.mix(clones.map { _files -> ['comparison', 'all_samples'] })
        ended = ended.mix(COMPARE_SAMPLES.out.ended)
        missing = missing.mix(COMPARE_SAMPLES.out.missing)
        versions = versions.mix(COMPARE_SAMPLES.out.versions)
    }

    emit:
    clusters = clusters // channel: file
    comparison = comparison // channel: file
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
