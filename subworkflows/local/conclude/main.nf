// The end of a run: files of earlier runs are put aside; the terminal says what came out or, after a failure, what to do.

include { advice                                                                                } from '../advice/main'
include { releaseBucket ; takeLock                                                              } from '../lock/main'
include { allBelow ; filesBelow ; inputPaths ; isFolder ; isPublished ; located ; resultFolders } from '../published/main'

// A file that is as old as this run: its time is that of the disk, which may differ from this machine's. Refuses a
// second run into the same folder.
def markStart(settings) {
    takeLock(settings)
    def marker = file("${settings.outdir}/pipeline_info/started.txt", glob: false)
    marker.text = "${workflow.start} ${workflow.runName}\n"
    return marker
}

// The last words of a run on the terminal.
def conclude(run) {
    def inputs = run.marker ? inputPaths(run.settings, run.tables) : []
    def said = run.marker ? resultsText(run.settings.outdir, run.marker, run.tasks, inputs, workflow.success) : ''
    if (said) {
        println(said)
    }
    def todo = workflow.success ? null : advice(workflow.errorReport)
    if (todo) {
        log.error(todo)
    }
    if (run.marker) {
        releaseBucket(run.settings.outdir)
    }
    if (run.settings) {
        mail(run.settings, [said, todo ?: workflow.errorReport].findAll { text -> text }.join('\n'))
    }
}

// An e-mail by Nextflow's own means: the configuration scope mail, or the machine's sendmail.
def mail(settings, summary) {
    def to = workflow.success ? settings.email : settings.email_on_fail ?: settings.email
    if (!to) {
        return
    }
    def outcome = workflow.success ? 'finished' : 'failed'
    def fields = [run: workflow.runName, outcome: outcome, duration: workflow.duration, summary: summary, command: workflow.commandLine]
    def escaped = fields.collectEntries { name, value -> [name, value.toString().replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')] }
    def text = fromTemplate('email_template.txt', fields)
    def html = fromTemplate('email_template.html', escaped)
    try {
        def body = settings.plaintext_email ? [text: text] : [text: text, body: html, type: 'text/html']
        sendMail([to: to, subject: "airrvec: ${workflow.runName} ${outcome}"] + body)
    }
    catch (Exception problem) {
        log.warn("no e-mail was sent to ${to}: ${problem.message}")
    }
}

def fromTemplate(name, fields) {
    def template = file("${projectDir}/assets/${name}", glob: false)
    return new groovy.text.SimpleTemplateEngine().createTemplate(template.text).make(fields).toString()
}

// Puts files of earlier runs aside after a run that made its report; returns what the terminal says of the results.
def resultsText(outdir, marker, tasks, inputs, success) {
    def root = file(outdir, glob: false)
    def summary = root.resolve('summary.txt')
    def folders = tasks.collect { folder -> located(folder) }
    def earlier = resultFolders()
        .collectMany { name -> filesBelow(root.resolve(name)).collect { path -> [path, name] } }
        .findAll { path, _name -> !isPublished(path, marker, folders) && !inputs.any { input -> path.startsWith(input) } }
    if (!summary.exists() || !isPublished(summary, marker, folders)) {
        return earlier && !success ? "${outdir} also holds ${earlier.size()} files of earlier runs\n" : '' // '': a preview
    }
    def aside = root.resolve("previous/${java.time.format.DateTimeFormatter.ofPattern('yyyy-MM-dd_HH-mm-ss').format(workflow.start)}")
    earlier.each { path, name -> moveFile(path, aside.resolve(name).resolve(located(root.resolve(name)).relativize(path).toString())) }
    resultFolders().each { name -> removeEmpty(root.resolve(name)) }
    def moved = earlier ? "${earlier.size()} files of earlier runs, which this run did not make, are now in ${aside.toUriString()}\n" : ''
    return "\n${summary.text}\nReport: ${outdir}/multiqc/multiqc_report.html\n${moved}"
}

def moveFile(path, target) {
    java.nio.file.Files.createDirectories(target.parent)
    def link = java.nio.file.Files.isSymbolicLink(path) ? java.nio.file.Files.readSymbolicLink(path) : null
    if (link && !link.isAbsolute()) {
        java.nio.file.Files.createSymbolicLink(target, target.parent.relativize(path.parent.resolve(link).normalize()))
        java.nio.file.Files.delete(path)
    }
    else {
        java.nio.file.Files.move(path, target)
    }
}

def removeEmpty(folder) {
    allBelow(folder).reverse().findAll { path -> isFolder(path) }.each { path ->
        if (!path.list()) {
            java.nio.file.Files.delete(path)
        }
    }
}
