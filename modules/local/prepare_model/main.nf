process PREPARE_MODEL {
    tag "${model}"
    label 'process_low'

    input:
    val model // a published variant
    val library

    output:
    tuple val(model), path("${model}"), emit: model
    path 'versions.yml', emit: versions

    script:
    """
    prepare_model.py ${model} --out ${model} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    mkdir ${model}
    touch ${model}/model.safetensors ${model}/config.json versions.yml
    """
}
