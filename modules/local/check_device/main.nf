process CHECK_DEVICE {
    label 'process_low'
    label 'process_gpu'

    input:
    val settings // map: device, train_devices
    val library

    output:
    stdout emit: found // one sentence
    path 'versions.yml', emit: versions

    script:
    """
    check_device.py --device ${settings.device} --devices ${settings.train_devices} \\
        --executor ${task.executor} --container '${workflow.containerEngine ?: ''}' \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    """
    echo 'no device was looked for'
    touch versions.yml
    """
}
