// The map: all receptors in a plane, as a page for the browser.

include { MAP_RECEPTORS } from '../../../modules/local/map_receptors/main'
include { byName        } from '../files/main'

workflow MAP {
    take:
    samples    // channel: [ meta, cells, [ receptors, one file per partition ] ]
    clones     // value: clones, counts, members, samples
    receptors  // value: receptors of the run, one file per partition
    embeddings // value: their vectors, one file per partition
    model      // value: [ name, folder or [] ]
    results    // map: calls, clusters → channel of files; empty without --annotate, --cluster
    settings   // map: parameters
    library    // map: script → value: digest of what it imports

    main:
    cells = byName(samples.map { _meta, file, _receptors -> file }).filter { files -> files } // none without αβ cells
    page = file("${projectDir}/assets/report", glob: false).listFiles().toList().sort { path -> path.name }
    MAP_RECEPTORS(
        cells,
        receptors,
        embeddings,
        byName(results.calls),
        clones,
        byName(results.clusters.filter { file -> file.name in ['clusters.parquet', 'members.parquet', 'clusters.qc.json'] }),
        model,
        page,
        settings.subMap(['seed', 'model_digest']),
        library.map_receptors,
    )

    made = MAP_RECEPTORS.out.qc.mix(MAP_RECEPTORS.out.results.flatten().filter { file -> file.extension == 'html' })
    asked = cells.map { _files -> ['map', 'all_samples'] }
    ended = MAP_RECEPTORS.out.ended
    missing = MAP_RECEPTORS.out.missing
    versions = MAP_RECEPTORS.out.versions

    emit:
    made = made // channel: file, map.qc.json and map.html
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
