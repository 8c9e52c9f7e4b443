process CLUSTER_RECEPTORS {
    label 'process_medium'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'clones/*') // clones, counts, members, samples
    path(cells, stageAs: 'cells/*')
    path(labelled, stageAs: 'labelled/*') // [] without labelled receptors
    path(receptors, stageAs: 'receptors/*')
    path(embeddings, stageAs: 'embeddings/*')
    path groups
    val settings // map: cluster_method, cluster_chance, seed
    val library

    output:
    path('*.{parquet,tsv}', emit: tables, optional: true)
    path('logos.{svg,png}', emit: logos, optional: true)
    path('clusters.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('clusters'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    cluster_receptors.py --clones clones --cells ${cells} ${labelled ? "--labelled ${labelled}" : ''} --receptors receptors --embeddings embeddings \\
        --groups ${groups} \\
        --cluster-method ${settings.cluster_method} --cluster-chance ${settings.cluster_chance} --seed ${settings.seed} \\
        --threads ${task.cpus} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch {clusters,members,motifs}.{parquet,tsv} clusters.qc.json versions.yml
    """
}
