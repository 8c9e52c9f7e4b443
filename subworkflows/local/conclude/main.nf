// The end of a run: files of earlier runs are put aside; the terminal says what came out or, after a failure, what to do.

include { advice                   } from '../advice/main'
include { releaseBucket ; takeLock } from '../lock/main'

// Folders of --outdir that hold results. `checkpoints` is of all runs, `pipeline_info` Nextflow's.
def resultFolders() {
    return [
        'airr', 'analyses', 'anndata', 'annotation', 'benchmark', 'cells', 'chains', 'clusters', 'comparison', 'embeddings',
        'map', 'models', 'multiqc', 'r', 'receptors', 'rejects', 'samples',
    ]
}

// A file that is as old as this run: its time is that of the disk, which may differ from this machine's. Refuses a
// second run into the same folder.
def markStart(settings) {
    takeLock(settings)
    def marker = file("${settings.outdir}/pipeline_info/started.txt", glob: false)
    marker.text = "${workflow.start} ${workflow.runName}\n"
    return marker
}

// Files and folders of --outdir's disk that a run reads: its samples' tables, and every parameter that is a path.
def inputPaths(given, tables) {
    def root = file(given.outdir, glob: false)
    def words = given.findAll { name, _value -> !['outdir', 'checkpoint_dir', 'references'].contains(name) }
        .collectMany { _name, value -> value.toString().tokenize(',').collect { word -> word.trim() } }
        .findAll { word -> word.contains('/') && (!word.contains('://') || word.startsWith(given.outdir.toString())) }
    def paths = words.collect { word -> file(word, glob: false) } + tables.collectMany { entry -> [entry.table, entry.map] }
    return paths.findAll { path -> path && path.fileSystem == root.fileSystem && path.exists() }
        .collectMany { path -> [located(path), located(path.parent).resolve(path.name)] } // a link, and where it leads to
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

// Whether this run has published a file. A hard link has the time of its content, and a symbolic link that leads to
// the right place already is left as it is: hence the time of the last change, and the folders of this run's tasks.
def isPublished(path, marker, folders) {
    def since = changed(path) >= changed(marker)
    return since || (java.nio.file.Files.isSymbolicLink(path) && path.exists() && folders.any { folder -> located(path).startsWith(folder) })
}

def changed(path) {
    return path.fileSystem.supportedFileAttributeViews().contains('unix')
        ? java.nio.file.Files.getAttribute(path, 'unix:ctime', java.nio.file.LinkOption.NOFOLLOW_LINKS)
        : java.nio.file.Files.getLastModifiedTime(path)
}

// Buckets have no links.
def located(path) {
    return path.fileSystem == java.nio.file.FileSystems.default ? path.toRealPath() : path
}

def isFolder(path) {
    return java.nio.file.Files.isDirectory(path, java.nio.file.LinkOption.NOFOLLOW_LINKS)
}

def allBelow(folder) {
    return folder.exists() ? java.nio.file.Files.walk(located(folder)).toList() : []
}

def filesBelow(folder) {
    return allBelow(folder).findAll { path -> !isFolder(path) }
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
