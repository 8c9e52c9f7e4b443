process PRETRAIN {
    tag "${preset.baseName}"
    label 'process_training'
    label 'process_gpu'
    label 'process_learn'
    conda "${moduleDir}/environment.yml"

    input:
    path preset
    tuple path(loss, stageAs: 'loss/*'), path(callbacks, stageAs: 'callbacks/*') // Python files of the user, or [] without
    path(receptors, stageAs: 'receptors/*')
    val synthetic // whether OLGA made the receptors
    val settings // map: train_steps, train_batch_size, train_devices, train_precision, train_logger, device, seed
    val library

    output:
    tuple(val(preset.baseName), path("${preset.baseName}"), emit: model)
    path('versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    // The folder of checkpoints, AIRRVEC_CHECKPOINTS, is no input: another one is no reason to train again.
    """
    pretrain.py receptors/* --preset ${preset} ${synthetic ? '--synthetic' : ''} \\
        ${settings.train_steps ? "--train-steps ${settings.train_steps}" : ''} \\
        ${settings.train_batch_size ? "--train-batch-size ${settings.train_batch_size}" : ''} \\
        ${loss ? "--pretrain-loss ${loss}" : ''} ${callbacks ? "--train-callbacks ${callbacks}" : ''} \\
        ${settings.train_logger ? "--train-logger ${settings.train_logger}" : ''} \\
        --seed ${settings.seed} --device ${settings.device} --train-devices ${settings.train_devices} \\
        --train-precision ${settings.train_precision} --threads ${task.cpus} --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    mkdir ${preset.baseName}
    touch ${preset.baseName}/model.safetensors ${preset.baseName}/config.json ${preset.baseName}/training.parquet ${preset.baseName}/training_times.parquet
    touch versions.yml
    """
}
