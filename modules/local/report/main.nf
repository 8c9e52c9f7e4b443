process REPORT {
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    path(normalised, stageAs: 'normalised/*')
    path(collected, stageAs: 'collected/*') // [] without αβ cells
    path(embedded, stageAs: 'embedded/*') // [] without αβ cells
    path(described, stageAs: 'described/*')
    path(clones, stageAs: 'clones/*') // clones with calls, and their counts; [] without samples
    path(gamma_delta, stageAs: 'gamma_delta/*') // [] without γδ cells
    path(benchmark, stageAs: 'benchmark/*')
    path(analyses, stageAs: 'analyses/*')
    path(annotation, stageAs: 'annotation/*')
    path(calls, stageAs: 'calls/*')
    path(clusters, stageAs: 'clusters/*')
    path(comparison, stageAs: 'comparison/*')
    path(trained, stageAs: 'trained/*')
    path(measured, stageAs: 'measured/*')
    path map // [] without a map
    path(missing, stageAs: 'missing/?/*') // *.missing.json: parts that could not be made, and why
    val lost // list of maps, of parts whose tasks failed: part, name, reason
    path(versions, stageAs: 'versions/?/*')
    val handover // boolean: whether the summary names its folder
    val library

    output:
    path('content', emit: content) // *_mqc.json: sections; report.css
    path('summary.txt', emit: summary)
    path('software_versions.yml', emit: versions)

    script:
    def args = task.ext.args ?: ''
    """
    mkdir -p missing/lost
    cat > missing/lost/tasks.missing.json <<'END_OF_LOST'
    ${groovy.json.JsonOutput.toJson(lost)}
    END_OF_LOST

    report.py --normalised normalised/*.qc.json \\
        ${collected ? '--collected collected/*.qc.json' : ''} ${embedded ? '--embedded embedded/*.qc.json' : ''} \\
        --described described --clones clones --gamma-delta gamma_delta --benchmark benchmark --analyses analyses --annotation annotation --calls calls \\
        --clusters clusters --comparison comparison \\
        ${trained ? '--trained trained/*' : ''} --measured measured --missing missing ${map ? "--map ${map}" : ''} \\
        --software versions/*/versions.yml --nextflow ${workflow.nextflow.version} --outdir content ${handover ? '--handover' : ''} ${args}
    mv content/summary.txt content/software_versions.yml .
    """

    stub:
    """
    mkdir content
    touch summary.txt software_versions.yml content/airrvec_brief_findings_mqc.json
    """
}
