process PLAN {
    label 'process_single'
    conda "${moduleDir}/environment.yml"

    input:
    path(tables, stageAs: 'tables/?/*')
    val request // map: what plan.py takes
    val library

    output:
    stdout(emit: text)
    path('plan.tsv', emit: plan)
    path('versions.yml', emit: versions)

    script:
    """
    cat > request.json <<'END_OF_REQUEST'
    ${groovy.json.JsonOutput.toJson(request)}
    END_OF_REQUEST

    plan.py ${tables} --request request.json --out plan.tsv --process ${task.process} --versions versions.yml
    """

    stub:
    """
    echo 'no table was read'
    touch plan.tsv versions.yml
    """
}
