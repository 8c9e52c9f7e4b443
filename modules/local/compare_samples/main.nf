process COMPARE_SAMPLES {
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'clones/*') // clones, counts, members, samples
    path(receptors, stageAs: 'receptors/*')
    path(embeddings, stageAs: 'embeddings/*')
    path groups
    val settings // map: cluster_chance, compare_by, compare_receptors, compare_permutations, compare_weights, seed
    val library

    output:
    path('{pairs,public,samples_pca,sample_vectors}.{parquet,tsv}', emit: tables, optional: true)
    path('comparison.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('comparison'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    compare_samples.py --clones clones --receptors receptors --embeddings embeddings \\
        --groups ${groups} \\
        --cluster-chance ${settings.cluster_chance} --compare-receptors ${settings.compare_receptors} --compare-permutations ${settings.compare_permutations} --compare-weights ${settings.compare_weights} \\
        ${settings.compare_by ? "--compare-by '${settings.compare_by}'" : ''} --seed ${settings.seed} \\
        --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch {pairs,public,samples_pca}.{parquet,tsv} sample_vectors.parquet comparison.qc.json versions.yml
    """
}
