process FINETUNE {
    tag "${preset.baseName}"
    label 'process_training'
    label 'process_gpu'
    label 'process_learn'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    path preset
    tuple path(loss, stageAs: 'loss/*'), path(callbacks, stageAs: 'callbacks/*') // Python files of the user, or [] without
    tuple val(start), path(weights, stageAs: 'start') // [] if the start is a published variant
    val settings // map: model_digest, species, exclude_references, finetune_*, train_steps, train_batch_size, train_devices, train_precision, train_logger, device, seed
    val library

    output:
    tuple(val(preset.baseName), path("${preset.baseName}"), emit: model)
    path('{split,specificity,unseen}.{parquet,tsv}', emit: tables)
    path('finetune.qc.json', emit: qc)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    // The folder of checkpoints, AIRRVEC_CHECKPOINTS, is no input: another one is no reason to train again.
    """
    finetune.py --cells ${cells} --receptors receptors --preset ${preset} --model ${weights ?: start} \\
        --name ${preset.baseName} --species ${settings.species} --exclude-references '${settings.exclude_references}' \\
        --finetune-split ${settings.finetune_split} --finetune-per-epitope ${settings.finetune_per_epitope} \\
        --finetune-min-receptors ${settings.finetune_min_receptors} \\
        ${settings.train_steps ? "--train-steps ${settings.train_steps}" : ''} \\
        ${settings.train_batch_size ? "--train-batch-size ${settings.train_batch_size}" : ''} \\
        ${loss ? "--finetune-loss ${loss}" : ''} ${callbacks ? "--train-callbacks ${callbacks}" : ''} \\
        ${settings.train_logger ? "--train-logger ${settings.train_logger}" : ''} \\
        --seed ${settings.seed} --device ${settings.device} --train-devices ${settings.train_devices} \\
        --train-precision ${settings.train_precision} --threads ${task.cpus} --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir ${preset.baseName}
    touch ${preset.baseName}/model.safetensors ${preset.baseName}/config.json ${preset.baseName}/training.parquet ${preset.baseName}/training_times.parquet
    touch {split,specificity,unseen}.{parquet,tsv} finetune.qc.json versions.yml
    """
}
