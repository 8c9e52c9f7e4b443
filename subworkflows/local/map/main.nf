// The map: all receptors in a plane, as a page for the browser.

include { MAP_RECEPTORS   } from '../../../modules/local/map_receptors/main'
include { PLACE_RECEPTORS } from '../../../modules/local/place_receptors/main'
include { byName          } from '../files/main'

workflow MAP {
    take:
    samples    // channel: [ meta, cells, [ receptors, one file per partition ] ]
    clones     // value: clones, counts, members, samples
    receptors  // value: receptors of the run, one file per partition
    embeddings // value: their vectors, one file per partition
    model      // value: [ name, folder or [] ]
    results    // map: described, calls, clusters → channel of files; empty without --annotate, --cluster
    settings   // map: parameters
    library    // map: script → value: digest of what it imports

    main:
    cells = byName(samples.map { _meta, file, _receptors -> file }).filter { files -> files } // none without αβ cells
    page = file("${projectDir}/assets/report", glob: false).listFiles().toList().sort { path -> path.name }
    // Behind the descriptions of samples, so that annotation, for which more waits, is the first to use the vectors.
    vectors = embeddings.combine(cells.map { _files -> true })
        .combine(results.described.toList().map { _files -> true })
        .map { row -> row.findAll { file -> file != true } }
        .first()
    PLACE_RECEPTORS(vectors, settings.seed, library.place_receptors)
    MAP_RECEPTORS(
        cells,
        receptors,
        embeddings,
        PLACE_RECEPTORS.out.places,
        byName(results.calls),
        clones,
        byName(results.clusters.filter { file -> file.name in ['clusters.parquet', 'members.parquet', 'clusters.qc.json'] }),
        model,
        page,
        settings.model_digest,
        library.map_receptors,
    )

    made = MAP_RECEPTORS.out.qc.mix(MAP_RECEPTORS.out.results)
    asked = vectors.map { _files -> ['places', 'all_samples'] }
        .mix(PLACE_RECEPTORS.out.places.map { _file -> ['map', 'all_samples'] })
    ended = PLACE_RECEPTORS.out.ended.mix(MAP_RECEPTORS.out.ended)
    missing = PLACE_RECEPTORS.out.missing.mix(MAP_RECEPTORS.out.missing)
    versions = PLACE_RECEPTORS.out.versions.mix(MAP_RECEPTORS.out.versions)

    emit:
    made = made // channel: file, map.qc.json and map.html
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
