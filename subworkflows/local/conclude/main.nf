// The end of a run: its manifest is written, files of earlier runs are put aside; the terminal says what came out or, after
// a failure, what to do. What goes wrong here is an error of the run.

include { advice                                                        } from '../advice/main'
include { fileDigest                                                    } from '../digest/main'
include { shown                                                         } from '../files/main'
include { releaseBucket                                                 } from '../lock/main'
include { announce ; linkOrFile ; parentsOf ; standingAt ; withoutRecord } from '../published/main'
include { inputPaths ; isFolder ; isPublished ; located                 } from '../published/main'
include { writeManifest                                                 } from '../manifest/main'
include { writeCrate                                                    } from '../crate/main'

// A file that is as old as this run: its time is that of the disk, which may differ from this machine's.
def markStart(settings) {
    def marker = file("${settings.outdir}/pipeline_info/started.txt", glob: false)
    marker.text = "${workflow.start} ${workflow.runName}\n"
    return marker
}

// The last words of a run on the terminal.
def conclude(run) {
    def problems = []
    def said = run.marker ? resultsText(run, problems) : ''
    if (said) {
        println(said)
    }
    def todo = workflow.success ? null : advice(workflow.errorReport)
    (problems + (todo ? [todo] : [])).each { problem -> log.error(problem) }
    if (run.announced) {
        releaseBucket(run.settings.outdir)
    }
    if (run.settings) {
        def failure = workflow.success ? '' : todo ?: workflow.errorReport
        mail(run.settings, workflow.success && !problems, ([said] + problems + [failure]).findAll { text -> text }.join('\n'))
    }
    if (problems && workflow.success) {
        workflow.session.abort(new RuntimeException(problems[0])) // for the exit status
    }
}

// The parts of the end, one after another: what one cannot do is a problem, and the others go on.
def attempt(problems, what, todo, part) {
    try {
        return part.call()
    }
    catch (Exception problem) {
        problems.add("${what} (${problem}); ${todo}".toString())
        return null
    }
}

// An e-mail by Nextflow's own means: the configuration scope mail, or the machine's sendmail.
def mail(settings, success, summary) {
    def to = success ? settings.email : settings.email_on_fail ?: settings.email
    if (!to) {
        return
    }
    def outcome = success ? 'finished' : 'failed'
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

// Writes the manifest and puts files of earlier runs aside after a run that made its report; returns what the terminal
// says of the results.
def resultsText(run, problems) {
    def outdir = run.settings.outdir
    def root = file(outdir, glob: false)
    def summary = root.resolve('summary.txt')
    def page = root.resolve('multiqc/multiqc_report.html')
    def folders = run.tasks.collect { folder -> located(folder) }
    if (![summary, page].every { path -> path.exists() && isPublished(path, run.marker, folders) }) {
        def earlier = workflow.success ? [] : staleFiles(run, root, folders) // a preview has success
        return earlier ? "${outdir} also holds ${earlier.size()} files of earlier runs\n" : ''
    }
    def again = 'mend this, and run again with -resume'
    def rows = attempt(problems, 'pipeline_info/manifest.tsv could not be written', again) { writeManifest(run) }
    problems.addAll((rows ?: []).collect { row -> row.problem }.findAll { problem -> problem })
    attempt(problems, 'ro-crate-metadata.json could not be written', again) { writeCrate(run, (rows ?: []).findAll { row -> row.sha256 }) }
    // Without a manifest, nothing says which files are of this run.
    def moved = rows ? attempt(problems, 'files of earlier runs could not be moved to previous/', again) { putAside(run, root, folders) } : ''
    return "\n${summary.text}\nReport: ${outdir}/multiqc/multiqc_report.html\n${handedOver(run, root, folders)}${moved ?: ''}"
}

// Parts that the report does not know to be missing, for the terminal and in a file, which only such a run has.
def lateParts(run, root) {
    def lines = run.unmade.groupBy { part -> [part.part, part.reason] }.collect { key, parts ->
        "  ${key[0].capitalize()} ${parts.collect { part -> part.name }.sort().join(', ')}: ${shown(key[1])}\n".toString()
    }.sort()
    def record = root.resolve('pipeline_info/missing_after_report.txt')
    java.nio.file.Files.deleteIfExists(record)
    if (!lines) {
        return ''
    }
    def text = "MISSING: ${lines.size()} ${lines.size() == 1 ? 'part' : 'parts'} could not be made after the report\n${lines.join()}"
    record.text = text
    return text.toString()
}

// What became of the folder that is made after the report.
def handedOver(run, root, folders) {
    def readme = root.resolve('handover/README.txt')
    def made = run.settings.handover && readme.exists() && isPublished(linkOrFile(root, 'handover/README.txt'), run.marker, folders)
    return lateParts(run, root) + (made ? "Handover: ${run.settings.outdir}/handover\n" : '')
}

// What is never put aside: each run replaces it, or goes on from it.
def isOfEveryRun(name) {
    return ['pipeline_info', 'checkpoints', 'ro-crate-metadata.json'].contains(name.tokenize('/')[0])
}

// list of [ name, path ]: files of earlier runs that this run did not make, and does not read
def staleFiles(run, root, folders) {
    def inputs = inputPaths(run.settings, run.tables)
    return run.earlier.keySet()
        .findAll { name -> !isOfEveryRun(name) }
        .collectMany { name -> standingAt(root, name) }
        .unique()
        .findAll { name, _path -> !isPublished(linkOrFile(root, name), run.marker, folders) }
        .findAll { _name, path -> !inputs.any { input -> path.startsWith(input) } }
}

// Returns a line for the terminal.
def putAside(run, root, folders) {
    def stale = staleFiles(run, root, folders)
    def names = stale.collect { name, _path -> name }
    def stay = withoutRecord(run.earlier).findAll { name -> name.startsWith('checkpoints/') }
    def own = run.announced.findAll { name -> isOfEveryRun(name) } + stay
    def read = run.earlier.keySet().findAll { name -> inputPaths(run.settings, run.tables).any { input -> root.resolve(name).startsWith(input) } }
    announce(root, (own + read + names).unique()) // those that cannot be moved stay airrvec's
    def (moved, changed) = stale.split { name, path -> isAsRecorded(path, run.earlier[name]) }
    def aside = root.resolve("previous/${java.time.format.DateTimeFormatter.ofPattern('yyyy-MM-dd_HH-mm-ss').format(workflow.start)}")
    moved.collectEntries { name, _path -> [linkOrFile(root, name), name] }.each { path, _name -> moveFile(path, aside.resolve(root.relativize(path).toString())) }
    moved.collectMany { name, _path -> parentsOf(name) }.unique().sort { name -> -name.size() }.each { name -> removeEmpty(root.resolve(name)) }
    announce(root, (own + read).unique())
    def told = moved ? "${moved.size()} files of earlier runs, which this run did not make, are now in ${aside.toUriString()}\n" : ''
    def kept = changed ? "${changed.size()} files of earlier runs have been changed since, and stay where they are: ${changed.collect { name, _path -> name }.sort().join(', ')}\n" : ''
    return told + kept
}

// Whether a file is what an earlier run left, as far as this is known. A link may lead to a work folder that is gone.
def isAsRecorded(path, record) {
    if (!record?.sha256 || !path.exists()) {
        return true
    }
    def size = java.nio.file.Files.size(path).toString()
    return size == record.size && (path.toUriString().contains('://') || fileDigest(path) == record.sha256)
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
    if (isFolder(folder) && !folder.list()) {
        java.nio.file.Files.delete(folder)
    }
}
