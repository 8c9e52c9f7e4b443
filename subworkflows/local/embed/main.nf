// Receptors → vectors.

include { EMBED_RECEPTORS  } from '../../../modules/local/embed_receptors/main'
include { MERGE_EMBEDDINGS } from '../../../modules/local/merge_embeddings/main'
include { byName           } from '../files/main'

workflow EMBED {
    take:
    shards     // channel: [ partition, whether it is all of it, shard ], grouped by partition
    partitions // channel: [ partition, receptors ]
    model      // value: [ name, folder or [] ]
    settings   // map: parameters
    library    // map: script → value: digest of what it imports

    main:
    EMBED_RECEPTORS( // one task per shard
        shards,
        model,
        settings.subMap(['device', 'precision', 'model_digest']),
        library.embed_receptors,
    )
    embedded = EMBED_RECEPTORS.out.embeddings.branch { _partition, whole, _file ->
        whole: whole
        parts: true
    }
    merged = embedded.parts
        .map { partition, _whole, file -> [partition, file] }
        .groupTuple()
        .map { partition, vectors -> [partition.toString(), vectors.sort { file -> file.name }] }
    MERGE_EMBEDDINGS( // one task per partition of several shards
        merged.join(partitions),
        model.map { name, _folder -> name },
        library.merge_embeddings,
    )

    embeddings = byName(embedded.whole.map { _partition, _whole, file -> file }.mix(MERGE_EMBEDDINGS.out.embeddings))
    qc = EMBED_RECEPTORS.out.qc.mix(MERGE_EMBEDDINGS.out.qc)
    versions = EMBED_RECEPTORS.out.versions.mix(MERGE_EMBEDDINGS.out.versions)

    emit:
    embeddings = embeddings // value: one file per partition
    qc = qc // channel: file
    versions = versions
}
