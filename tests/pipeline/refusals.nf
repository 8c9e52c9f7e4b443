// What the checks of parameters say to many runs, in one JVM: the main.nf of a project that is otherwise this one.

include { checkedParameters ; checkedTogether } from './subworkflows/local/parameters/main'
include { pathsOfRoles ; rowsOfSheet           } from './subworkflows/local/samplesheet/main'
include { planRun                             } from './subworkflows/local/models/main'

workflow {
    def schema = "${projectDir}/nextflow_schema.json"
    new groovy.json.JsonSlurper().parseText(file(params.cases).text).each { given ->
        def said = null
        try {
            def values = checkedParameters(params.findAll { name, _value -> name != 'cases' } + given, schema)
            planRun(checkedTogether(values + pathsOfRoles(values, rowsOfSheet(values))), schema)
        }
        catch (Exception problem) {
            said = rootOf(problem).message
        }
        println("REFUSAL ${groovy.json.JsonOutput.toJson([said])}")
    }
}

def rootOf(problem) {
    return problem.cause ? rootOf(problem.cause) : problem
}
