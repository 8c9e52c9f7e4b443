process MERGE_REFERENCES {
    label 'process_low'
    label 'process_optional'
    conda "${moduleDir}/environment.yml"

    input:
    tuple val(names), path(tables, stageAs: 'tables/*') // cells, receptors and counts of each table
    val library

    output:
    tuple(path('reference.cells.parquet'), path('reference.receptors_0000.parquet'), emit: reference, optional: true)
    path('{merged,conflicts,sources}.{parquet,tsv}', emit: tables, optional: true)
    path('missing/*.missing.json', emit: missing, optional: true) // why there is none of these
    tuple(val('annotation'), val('merged_reference'), emit: ended)
    path('versions.yml', emit: versions, optional: true)

    script:
    def args = task.ext.args ?: ''
    """
    merge_references.py --sources ${names.join(' ')} --tables tables --threads ${task.cpus} \\
        --missing missing/merged_reference.missing.json --process ${task.process} --versions versions.yml ${args}
    """

    stub:
    """
    touch reference.cells.parquet reference.receptors_0000.parquet {merged,conflicts,sources}.{parquet,tsv} versions.yml
    """
}
