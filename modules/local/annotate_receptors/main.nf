process ANNOTATE_RECEPTORS {
    tag "${ids.size() == 1 ? ids[0] : "${ids.size()} samples"}"
    label 'process_medium'
    label 'process_optional'
    cpus { [cores, Runtime.runtime.availableProcessors()].min() }
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(ids), val(hla), val(cores), path(cells, stageAs: 'cells/*'), path(receptors, stageAs: 'receptors/*') // of samples, in their order
    path(clones, stageAs: 'clones/*') // clones, counts, members, samples
    path(embeddings, stageAs: 'embeddings/*') // [] if another model than the reference's made them
    tuple val(model), path(weights, stageAs: 'model') // [] if the model is a published variant
    path reference
    val settings // map: annotation_fdr, annotate_innate, epitopes, model_digest
    val library

    output:
    path('*.{parquet,tsv}', emit: tables, optional: true)
    path('*.annotation.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('annotation'), val(ids), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    def typings = hla.collect { typing -> "'${typing}'" } // of letters that the check of the samplesheet allows
    """
    annotate_receptors.py --sample ${ids.join(' ')} --cells ${cells} --clones clones --receptors receptors --reference ${reference} \\
        --model ${weights ?: model} ${embeddings ? '--embeddings embeddings' : ''} \\
        ${hla.any() ? "--hla ${typings.join(' ')}" : ''} \\
        --annotation-fdr ${settings.annotation_fdr} ${settings.annotate_innate ? '--annotate-innate' : ''} \\
        ${settings.epitopes ? "--epitopes '${settings.epitopes}'" : ''} \\
        --threads ${task.cpus} ${ids.collect { id -> "--missing missing/${id}.missing.json" }.join(' ')} \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    for sample in ${ids.join(' ')}; do
        touch \$sample.{parquet,tsv} \$sample.annotation.qc.json
    done
    touch versions.yml
    """
}
