// The manifest of a run: checksum, size, rows and schema of every input and every published file. Tasks record what they
// write, in comments of their versions.yml; the end of the run compares this with what has been published.

include { inBucket                                        } from '../files/main'
include { fileCrc ; fileDigest                            } from '../digest/main'
include { escaped                                         } from '../published/main'
include { isPublished ; linkOrFile ; located ; standingAt } from '../published/main'

// Files without a record of their task: folder or file → process
def withoutRecord() {
    def pages = ['multiqc/', 'handover/report.html', 'handover/map.html'].collectEntries { name -> [name, 'RENDER_REPORT'] }
    return pages + ['r/': 'EXPORT_SCE', 'summary.txt': 'REPORT', 'pipeline_info/software_versions.yml': 'REPORT']
}

// Writes pipeline_info/manifest.tsv after a run that made its report, and returns its rows; problem: that a file is not
// what its task wrote.
def writeManifest(run) {
    def root = file(run.settings.outdir, glob: false)
    def records = run.tasks.unique().collectMany { folder ->
        recordsOf(folder.resolve('versions.yml')).collect { record -> record + [folder: folder] }
    }
    def results = resultRows(root, run, records)
    def found = results.findAll { row -> row.sha256 } + inputRows(run, records)
    def rows = found.collect { row -> row + [code: row.code ?: run.codes[row.script]] }
    def columns = ['path', 'kind', 'sha256', 'size', 'rows', 'schema', 'process', 'code', 'sample']
    def lines = rows.collect { row -> columns.collect { name -> escaped(row[name]) }.join('\t') }.sort()
    def text = ([columns.join('\t')] + lines).join('\n') + '\n'
    root.resolve('pipeline_info/manifest.tsv').text = text
    root.resolve('pipeline_info/manifest.tsv.sha256').text = "${text.sha256()}  manifest.tsv\n"
    return rows.sort { row -> row.path } + results.findAll { row -> !row.sha256 }
}

// list of maps: kind, name, process, script, sha256, size, rows, schema; of an input also sample
def recordsOf(versions) {
    def lines = versions.exists() ? versions.readLines('UTF-8') : []
    return lines.findAll { line -> line.startsWith('# {') }.collect { line -> new groovy.json.JsonSlurperClassic().parseText(line.substring(2)) }
}

// One map per published file; problem: the error line, or null.
def resultRows(root, run, records) {
    def listed = run.announced.findAll { name -> !name.startsWith('checkpoints/') && (!name.startsWith('pipeline_info/') || infoRows().contains(name)) }
    def folders = run.tasks.collect { folder -> located(folder) }
    def files = (listed - ['ro-crate-metadata.json']).collectMany { name -> standingAt(root, name) }
        .findAll { name, path -> path.exists() && !path.isDirectory() && isPublished(linkOrFile(root, name), run.marker, folders) }
    def made = records.findAll { record -> record.kind == 'result' }.groupBy { record -> record.name.tokenize('/').last() }
    // Tasks without records, of R and MultiQC: their own copies are looked at.
    def plain = run.tasks.findAll { folder -> !inBucket(folder) && !recordsOf(folder.resolve('versions.yml')) }
    // All cores read and hash.
    return files.parallelStream().map { found -> resultRow(found[1], found[0], made, plain) }.collect(java.util.stream.Collectors.toList())
}

// The others hold times, or are the manifest itself.
def infoRows() {
    return ['pipeline_info/samples.tsv', 'pipeline_info/software_versions.yml']
}

def resultRow(path, name, made, folders) {
    def candidates = taskNames(name).collectMany { word -> made[word] ?: [] }
    def size = java.nio.file.Files.size(path)
    def plain = withoutRecord().findResult { prefix, process -> name.startsWith(prefix) ? [process: process, script: process.toLowerCase()] : null }
    // A file in a bucket is not fetched again: its size is compared.
    def remote = inBucket(path) && candidates
    def likely = candidates.findAll { found -> found.size == size }
    def crc = likely && !remote ? fileCrc(path) : null
    def record = likely.find { found -> remote || found.crc32 == crc }
    if (record) {
        return record.subMap(['sha256', 'size', 'rows', 'schema', 'process', 'script']) + [kind: 'result', path: name]
    }
    def digest = remote ? null : fileDigest(path)
    def own = plain ? folders.collect { folder -> folder.resolve(name.replaceFirst(/^(r|multiqc|pipeline_info)\//, '')) }.findAll { copy -> copy.exists() } : []
    def changed = own && !own.any { copy -> fileDigest(copy) == digest }
    if ((plain && !changed) || workflow.stubRun) {
        return (plain ?: [:]) + [kind: 'result', path: name, sha256: digest, size: size]
    }
    // As it should be, so that `airrvec verify` finds it too.
    def first = changed ? plain + [sha256: fileDigest(own[0]), size: java.nio.file.Files.size(own[0])] : candidates ? candidates[0] : [:]
    // A resumed run would take a damaged work folder from the cache.
    def todo = first.folder && isChanged(first) ? "delete ${first.folder.toUriString()} and run again with -resume" : 'run again with -resume'
    def problem = "${name} in the results is not what a task of this run wrote: the file was damaged or changed; ${todo}"
    return first.subMap(['sha256', 'size', 'rows', 'schema', 'process', 'script']) + [kind: 'result', path: name, problem: problem.toString()]
}

// Whether a task's own copy of a file is not what it wrote.
def isChanged(record) {
    def copy = record.folder.resolve(record.name)
    return !inBucket(copy) && copy.exists() && fileDigest(copy) != record.sha256
}

// Names that the file of a task may have where it is published under this one: a.cells.parquet for cells/a.parquet.
def taskNames(name) {
    def words = name.tokenize('/')
    def base = words.last()
    def parent = words.size() > 1 ? words[-2] : ''
    def stem = base.contains('.') ? base.substring(0, base.lastIndexOf('.')) : base
    return [stem + '.' + parent + base.substring(stem.size()), parent + '.' + base, base]
}

// Tables, as the task that read them recorded them; other files that parameters name, and files of their folders.
def inputRows(run, records) {
    def read = records.findAll { record -> record.kind == 'input' }.collectEntries { record -> [record.sample, record] }
    def ofTables = run.inputs.findAll { id, _table -> read[id] }.collect { id, table ->
        def given = run.tables.find { entry -> entry.table == table }?.path ?: table.toUriString()
        read[id].subMap(['sha256', 'size', 'rows', 'schema', 'process', 'script', 'sample']) + [kind: 'input', path: given, file: table]
    }
    def tables = run.tables.collect { entry -> entry.table }
    def named = run.settings.findAll { name, _value -> !['outdir', 'checkpoint_dir', 'calibrations', 'references'].contains(name) }
        .collectMany { _name, value -> value instanceof CharSequence ? (value.contains('://') ? [] : [value.toString()]) + value.tokenize(',') : [] }
        .collect { word -> word.trim() }
        .findAll { word -> word.contains('/') || word.contains('.') }
        .unique()
        .collect { word -> [word, file(word, glob: false)] }
    def maps = run.tables.findAll { entry -> entry.map }.collect { entry -> [entry.map.toString(), entry.map] }
    def files = (named + maps).findAll { _word, path -> path.exists() && !tables.contains(path) }.unique { entry -> entry[1] }
    def ofFiles = files.collectMany { word, path -> filesAt(path, word) }
    return ofTables + ofFiles.parallelStream().map { entry -> inputRow(entry[0], entry[1]) }.collect(java.util.stream.Collectors.toList())
}

def inputRow(path, word) {
    return [kind: 'input', path: word, file: path, sha256: fileDigest(path), size: java.nio.file.Files.size(path)]
}

// A file, or all files of a folder or of a link to one, with their names.
def filesAt(path, name) {
    return !path.isDirectory() ? [[path, name]] : java.nio.file.Files.walk(located(path), java.nio.file.FileVisitOption.FOLLOW_LINKS).toList()
        .findAll { found -> found.exists() && !found.isDirectory() }
        .collect { found -> [found, "${name}/${located(path).relativize(found)}".toString()] }
}
