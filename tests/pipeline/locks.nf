// What the lock of a folder of results says to many runs, in one JVM: the main.nf of a project that is otherwise this one.

include { advice            } from './subworkflows/local/advice/main'
include { holder ; takeLock } from './subworkflows/local/lock/main'

workflow {
    def json = new groovy.json.JsonSlurper()
    json.parseText(file(params.failures).text).each { report ->
        println("ADVICE ${groovy.json.JsonOutput.toJson([advice(report)])}")
    }
    def started = ProcessHandle.of(1L).get().info().startInstant()
    def first = started.map { time -> time.truncatedTo(java.time.temporal.ChronoUnit.SECONDS).toString() }.orElse('unknown')
    json.parseText(file(params.locks).text).each { name, given ->
        def lock = file("${name}/pipeline_info/lock.txt")
        lock.parent.mkdirs()
        def session = [session: given.session == 'same' ? workflow.sessionId : 'another']
        def held = holder() + [since: first] + given + session
        lock.text = given.size() == 0 ? '' : held.collect { key, value -> "${key}\t${value}\n" }.join('')
        def said = null
        try {
            takeLock([outdir: name])
        }
        catch (Exception problem) {
            said = rootOf(problem).message
        }
        def words = holder().collect { key, value -> "${key}\t${value}\n" }.join('')
        println("LOCK ${groovy.json.JsonOutput.toJson([name, said, lock.text == words, lock.parent.list().size()])}")
    }
}

def rootOf(problem) {
    return problem.cause ? rootOf(problem.cause) : problem
}
