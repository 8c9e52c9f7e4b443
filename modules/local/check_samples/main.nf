process CHECK_SAMPLES {
    label 'process_low' // a packed file of up to --max_unpacked is read whole
    conda "${moduleDir}/environment.yml"

    input:
    path sheet // [] without --input
    path(tables, stageAs: 'tables/?/*')
    path(maps, stageAs: 'maps/?/*') // column maps
    val request // map: what check_samples.py takes
    val library

    output:
    path('checked.json', emit: checked)
    path('samples.tsv', emit: seen)
    path('check.missing.json', emit: missing) // samples that are left out, where that is asked for
    path('versions.yml', emit: versions)

    script:
    """
    cat > request.json <<'END_OF_REQUEST'
    ${groovy.json.JsonOutput.toJson(request)}
    END_OF_REQUEST

    check_samples.py ${sheet ? "--sheet ${sheet}" : ''} --request request.json \\
        --process ${task.process} --versions versions.yml
    """

    stub:
    // Read all the same: the samplesheet names the tasks that follow.
    """
    cat > request.json <<'END_OF_REQUEST'
    ${groovy.json.JsonOutput.toJson(request)}
    END_OF_REQUEST

    check_samples.py ${sheet ? "--sheet ${sheet}" : ''} --request request.json \\
        --process ${task.process} --versions versions.yml
    """
}
