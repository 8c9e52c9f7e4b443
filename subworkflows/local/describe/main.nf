// Each sample by itself: clones, genes, lengths, diversity; one task for all samples.

include { DESCRIBE_SAMPLES } from '../../../modules/local/describe_samples/main'
include { byName           } from '../files/main'
include { digestOf         } from '../digest/main'

workflow DESCRIBE {
    take:
    samples  // channel: [ meta, cells, [ receptors, one file per partition ] ]
    settings // map: parameters
    library  // value: script → digest of what it imports

    main:
    parts = samples.branch { meta, _cells, _receptors ->
        labelled: meta.labelled
        unlabelled: true
    }
    cells = byName(parts.unlabelled.map { _meta, file, _receptors -> file }).filter { files -> files }
    DESCRIBE_SAMPLES(
        cells,
        byName(parts.unlabelled.flatMap { _meta, _cells, receptors -> receptors }),
        byName(parts.labelled.map { _meta, file, _receptors -> file }),
        settings.subMap(['compare_by']),
        digestOf(library, 'describe_samples'),
    )

    results = DESCRIBE_SAMPLES.out.tables.mix(DESCRIBE_SAMPLES.out.qc).flatten()
    asked = cells.map { _files -> ['samples', 'all_samples'] }
    ended = DESCRIBE_SAMPLES.out.ended
    missing = DESCRIBE_SAMPLES.out.missing
    versions = DESCRIBE_SAMPLES.out.versions

    emit:
    results = results // channel: file
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
