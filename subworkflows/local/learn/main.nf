// The chain of models: a published or own one, or one that is pre-trained here; then, if asked for, fine-tuned.

include { SYNTHESISE_RECEPTORS } from '../../../modules/local/synthesise_receptors/main'
include { PRETRAIN             } from '../../../modules/local/pretrain/main'
include { FINETUNE             } from '../../../modules/local/finetune/main'

workflow LEARN {
    take:
    receptors // value: the receptors of the run, a file a partition
    labelled  // channel: [ meta, cells, [ receptors, a file a partition ] ], at most one
    plan      // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null
    settings  // map: params
    library

    main:
    n_synthetic = settings.synthetic_receptors ? settings.synthetic_receptors as Long : 0
    n_shards = Math.ceil(n_synthetic / 100000) as Integer
    SYNTHESISE_RECEPTORS(channel.fromList((0..<n_shards).toList()), n_shards, n_synthetic, settings.seed, library)
    synthetic = SYNTHESISE_RECEPTORS.out.receptors.toSortedList { a, b -> a.name <=> b.name }

    training = settings.subMap(['train_steps', 'train_batch_size', 'train_devices', 'train_precision', 'device', 'seed'])
    PRETRAIN(
        channel.fromList(plan.pretrain ? [plan.pretrain] : []),
        n_synthetic ? synthetic : receptors,
        n_synthetic > 0,
        training,
        library,
    )
    untuned = plan.pretrain ? PRETRAIN.out.model.first() : channel.value(plan.start)

    FINETUNE(
        labelled.filter { _row -> plan.finetune },
        plan.finetune ?: [],
        untuned,
        training + settings.subMap(['model_digest', 'species', 'exclude_references', 'finetune_split', 'finetune_per_epitope', 'finetune_min_receptors']),
        library,
    )

    model = plan.finetune ? FINETUNE.out.model.first() : untuned
    trained = PRETRAIN.out.model.mix(FINETUNE.out.model).map { _name, folder -> folder }
    measured = FINETUNE.out.tables.mix(FINETUNE.out.qc).flatten()
    versions = SYNTHESISE_RECEPTORS.out.versions.mix(PRETRAIN.out.versions, FINETUNE.out.versions)

    emit:
    untuned // value: [ name, folder or [] ], the model before fine-tuning
    model // value: [ name, folder or [] ]
    trained // channel: folder
    measured // channel: file
    versions
}
