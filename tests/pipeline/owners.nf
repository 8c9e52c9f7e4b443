// What is said of the files in --outdir before the first task, to many runs, in one JVM: the main.nf of a project that
// is otherwise this one.

include { checkedParameters          } from './subworkflows/local/parameters/main'
include { lookAround                 } from './subworkflows/local/ownership/main'
include { pathsOfRoles ; rowsOfSheet ; tablesOfRun } from './subworkflows/local/samplesheet/main'
include { planRun                    } from './subworkflows/local/models/main'

workflow {
    def schema = "${projectDir}/nextflow_schema.json"
    new groovy.json.JsonSlurper().parseText(file(params.cases).text).each { given ->
        def said = null
        try {
            def values = checkedParameters(params.findAll { name, _value -> name != 'cases' } + given, schema)
            def rows = rowsOfSheet(values)
            def settings = values + pathsOfRoles(values, rows)
            lookAround([settings: settings, tables: tablesOfRun(settings, rows)], planRun(settings, schema))
        }
        catch (Exception problem) {
            said = rootOf(problem).toString()
        }
        println("REFUSAL ${groovy.json.JsonOutput.toJson([said])}")
    }
}

def rootOf(problem) {
    return problem.cause ? rootOf(problem.cause) : problem
}
