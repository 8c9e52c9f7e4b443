process CHECK_DEVICE {
    label 'process_low'
    label 'process_gpu'
    label 'process_learn'
    conda "${moduleDir}/environment.yml"

    input:
    val settings // map: device, train_devices, extras
    val library

    output:
    stdout(emit: found) // one sentence or none
    path('versions.yml', emit: versions)

    script:
    """
    check_device.py --device ${settings.device} --train-devices ${settings.train_devices} \\
        ${settings.extras ? "--extras ${settings.extras.join(' ')}" : ''} \\
        --executor ${task.executor} --container '${workflow.containerEngine ?: ''}' \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    echo 'no device was looked for'
    touch versions.yml
    """
}
