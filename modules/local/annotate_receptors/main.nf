process ANNOTATE_RECEPTORS {
    tag "${meta.id}"
    label 'process_medium'

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    path embeddings, stageAs: 'embeddings/*' // [] if another model than the reference's made them
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path reference
    val settings // map: species, annotation_fdr
    val library

    output:
    path "${meta.id}.{parquet,tsv}", emit: tables
    path "${meta.id}.annotation.qc.json", emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    annotate_receptors.py --cells ${cells} --receptors receptors --sample ${meta.id} --reference ${reference} \\
        --model ${weights ?: model} ${embeddings ? '--embeddings embeddings' : ''} \\
        --species ${settings.species} --fdr ${settings.annotation_fdr} \\
        --cpus ${task.cpus} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch ${meta.id}.{parquet,tsv} ${meta.id}.annotation.qc.json versions.yml
    """
}
