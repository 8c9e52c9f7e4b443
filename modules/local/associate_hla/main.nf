process ASSOCIATE_HLA {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    path(clones, stageAs: 'clones/*') // clones, counts, members, samples
    path(clusters, stageAs: 'clusters/*') // clusters, members
    path(samplesheet, stageAs: 'samplesheet/*')
    val settings // map: hla_fields, compare_within
    val library

    output:
    path('hla.{parquet,tsv}', emit: tables, optional: true)
    path('hla.qc.json', emit: qc, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('hla'), val('all_samples'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    associate_hla.py --clones clones --clusters clusters --samplesheet ${samplesheet} --hla-fields ${settings.hla_fields} \\
        ${settings.compare_within ? "--compare-within '${settings.compare_within}'" : ''} --missing missing/all_samples.missing.json \\
        --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch hla.{parquet,tsv} hla.qc.json versions.yml
    """
}
