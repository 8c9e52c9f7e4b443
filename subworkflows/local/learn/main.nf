// The model of the run: published, the user's own, or pre-trained here; then, if asked for, fine-tuned. And the encoders.

include { SYNTHESISE_RECEPTORS } from '../../../modules/local/synthesise_receptors/main'
include { PRETRAIN             } from '../../../modules/local/pretrain/main'
include { FINETUNE             } from '../../../modules/local/finetune/main'
include { byName               } from '../files/main'

workflow LEARN {
    take:
    receptors // value: receptors of the run, one file per partition
    labelled  // channel: [ meta, cells, [ receptors, one file per partition ] ], at most one
    plan      // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null; code, their Python files
    settings  // map: parameters
    library   // map: script → value: digest of what it imports

    main:
    untuned = channel.value(plan.start)
    model = untuned
    tuned = channel.value([['sceptr', [], [], ''], ['sceptr_finetuned', [], [], '']])
    trained = channel.empty()
    measured = channel.empty()
    versions = channel.empty()
    training = settings.subMap(['train_steps', 'train_batch_size', 'train_devices', 'train_precision', 'train_logger', 'device', 'seed'])

    data = receptors
    if (settings.synthetic_receptors) {
        n_shards = Math.ceil(settings.synthetic_receptors / 100000) as Integer
        SYNTHESISE_RECEPTORS(
            channel.fromList((0..<n_shards).toList()),
            n_shards,
            settings.synthetic_receptors,
            settings.seed,
            library.synthesise_receptors,
        )
        data = byName(SYNTHESISE_RECEPTORS.out.receptors)
        versions = versions.mix(SYNTHESISE_RECEPTORS.out.versions)
    }
    if (plan.pretrain) {
        PRETRAIN(
            plan.pretrain,
            [plan.code.pretrain.loss, plan.code.pretrain.callbacks],
            data,
            settings.synthetic_receptors ? true : false,
            training,
            library.pretrain,
        )
        untuned = PRETRAIN.out.model
        model = untuned
        trained = trained.mix(PRETRAIN.out.model)
        versions = versions.mix(PRETRAIN.out.versions)
    }
    if (plan.finetune) {
        splitting = settings.subMap(['finetune_split', 'finetune_per_epitope', 'finetune_min_receptors'])
        FINETUNE(
            labelled,
            plan.finetune,
            [plan.code.finetune.loss, plan.code.finetune.callbacks],
            untuned,
            training + splitting + settings.subMap(['model_digest', 'species', 'exclude_references']),
            library.finetune,
        )
        model = FINETUNE.out.model.first()
        tuned = untuned.combine(model).map { start, weights, name, folder ->
            [[start, weights, [], settings.model_digest], [name, folder, [], '']]
        }
        trained = trained.mix(FINETUNE.out.model)
        measured = FINETUNE.out.tables.mix(FINETUNE.out.qc).flatten()
        versions = versions.mix(FINETUNE.out.versions)
    }

    own = untuned.filter { _name, folder -> folder }.map { name, folder -> [name, folder, [], settings.model_digest] }
    given = plan.encoders.collect { row -> row[0] }

    encoders = channel.fromList(plan.encoders).mix(own)
    names = untuned.map { name, folder -> (folder ? given + [name] : given).join(',') }
    trained = trained.map { _name, folder -> folder }

    emit:
    untuned = untuned // value: [ name, folder or [] ], the model before fine-tuning
    model = model // value: [ name, folder or [] ]
    encoders = encoders // channel: [ name, own folder or file or [], folder of weights or [], digest of these ]
    names = names // value: their names
    tuned = tuned // value: the models before and after fine-tuning as encoders, or the published ones
    trained = trained // channel: folder
    measured = measured // channel: file
    versions = versions
}
