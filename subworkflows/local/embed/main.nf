// Receptors → vectors.

include { PREPARE_MODEL    } from '../../../modules/local/prepare_model/main'
include { EMBED_RECEPTORS  } from '../../../modules/local/embed_receptors/main'
include { MERGE_EMBEDDINGS } from '../../../modules/local/merge_embeddings/main'
include { byName           } from '../files/main'
include { digestOf         } from '../digest/main'

workflow EMBED {
    take:
    shards     // channel: [ partition, shard ], grouped by partition
    partitions // channel: [ partition, receptors ]
    model      // value: [ name, folder or [] ]
    is_published // whether the model has no folder
    settings   // map: parameters
    library    // value: script → digest of what it imports

    main:
    versions = channel.empty()
    prepared = model
    if (is_published) {
        PREPARE_MODEL(model.map { name, _folder -> name }, digestOf(library, 'prepare_model'))
        prepared = PREPARE_MODEL.out.model
        versions = PREPARE_MODEL.out.versions
    }
    EMBED_RECEPTORS( // one task per shard
        shards,
        prepared.map { _name, folder -> folder },
        settings.subMap(['device', 'precision', 'model_digest']),
        digestOf(library, 'embed_receptors'),
    )
    embedded = EMBED_RECEPTORS.out.embeddings
        .groupTuple()
        .map { partition, vectors -> [partition.toString(), vectors.sort { file -> file.name }] }
    MERGE_EMBEDDINGS( // one task per partition
        embedded.join(partitions),
        model.map { name, _folder -> name },
        digestOf(library, 'merge_embeddings'),
    )

    embeddings = byName(MERGE_EMBEDDINGS.out.embeddings)
    qc = MERGE_EMBEDDINGS.out.qc
    versions = versions.mix(EMBED_RECEPTORS.out.versions, MERGE_EMBEDDINGS.out.versions)

    emit:
    embeddings = embeddings // value: one file per partition
    qc = qc // channel: file
    versions = versions
}
