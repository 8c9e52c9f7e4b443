process REPORT {
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    path normalised, stageAs: 'normalised/*'
    path collected, stageAs: 'collected/*' // [] without αβ cells
    path embedded, stageAs: 'embedded/*' // [] without αβ cells
    path described, stageAs: 'described/*'
    path clones, stageAs: 'clones/*' // clones with calls, and their counts; [] without samples
    path gamma_delta, stageAs: 'gamma_delta/*' // [] without γδ cells
    path benchmark, stageAs: 'benchmark/*'
    path analyses, stageAs: 'analyses/*'
    path annotation, stageAs: 'annotation/*'
    path calls, stageAs: 'calls/*'
    path clusters, stageAs: 'clusters/*'
    path comparison, stageAs: 'comparison/*'
    path trained, stageAs: 'trained/*'
    path measured, stageAs: 'measured/*'
    path map // [] without a map
    path missing, stageAs: 'missing/?/*' // *.missing.json: parts that could not be made, and why
    val lost // list of maps, of parts whose tasks failed: part, name, reason
    path versions, stageAs: 'versions/?/*'
    path config, stageAs: 'config/?/*' // multiqc_config.yml, and --multiqc_config
    val title
    val handover // boolean: whether the summary names its folder
    val library

    output:
    path 'multiqc_report.html', emit: html
    path 'multiqc_report_data', emit: data
    path 'summary.txt', emit: summary
    path 'software_versions.yml', emit: versions
    path 'content/*_mqc.json', emit: sections

    script:
    def args = task.ext.args ?: ''
    def configs = [config].flatten().collect { file -> "--config ${file}" }.join(' ')
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
        --software versions/*/versions.yml --nextflow ${workflow.nextflow.version} --outdir content ${handover ? '--handover' : ''} \\
        --multiqc ${configs} ${title ? "--title '${title}'" : ''} ${args}
    mv content/summary.txt content/software_versions.yml .
    """

    stub:
    """
    mkdir -p multiqc_report_data content
    touch multiqc_report.html summary.txt software_versions.yml content/airrvec_brief_findings_mqc.json
    """
}
