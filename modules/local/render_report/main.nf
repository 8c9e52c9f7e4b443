process RENDER_REPORT {
    label 'process_low'
    conda "${moduleDir}/environment.yml"

    input:
    path content // folder: *_mqc.json, report.css
    path(config, stageAs: 'config/?/*') // multiqc_config.yml, and --multiqc_config
    val title
    path map // map.html; [] without a map
    val handover // boolean: whether report and map are copied into the folder to hand over
    val library

    output:
    path('multiqc_report.html', emit: html)
    path('multiqc_report_data', emit: data)
    path('handover/*', emit: handed_over, optional: true) // report.html, map.html

    script:
    def args = task.ext.args ?: ''
    def configs = [config].flatten().collect { file -> "--config ${file}" }.join(' ')
    """
    render_report.py --content ${content} ${handover ? '--handover' : ''} ${map ? "--map ${map}" : ''} \\
        --multiqc ${configs} ${title ? "--title '${title}'" : ''} ${args}
    """

    stub:
    """
    mkdir -p multiqc_report_data handover
    touch multiqc_report.html ${handover ? 'handover/{report,map}.html' : ''}
    """
}
