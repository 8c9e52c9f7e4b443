process ANNOTATE_RECEPTORS {
    tag "${meta.id}"
    label 'process_medium'
    label 'process_optional'

    input:
    tuple val(meta), path(cells), path(receptors, stageAs: 'receptors/*')
    path embeddings, stageAs: 'embeddings/*' // [] if another model than the reference's made them
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path reference
    val settings // map: annotation_fdr, model_digest
    val library

    output:
    path("${meta.id}.{parquet,tsv}"), emit: tables, optional: true
    path "${meta.id}.annotation.qc.json", emit: qc, optional: true
    path 'missing/*.missing.json', emit: missing, optional: true // why there is none of these
    tuple val('annotation'), val("${meta.id}"), emit: ended
    path 'versions.yml', emit: versions, optional: true

    script:
    def args = task.ext.args ?: ''
    """
    annotate_receptors.py --cells ${cells} --receptors receptors --sample ${meta.id} --reference ${reference} \\
        --model ${weights ?: model} ${embeddings ? '--embeddings embeddings' : ''} \\
        --fdr ${settings.annotation_fdr} \\
        --cpus ${task.cpus} --missing missing/${meta.id}.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch ${meta.id}.{parquet,tsv} ${meta.id}.annotation.qc.json versions.yml
    """
}
