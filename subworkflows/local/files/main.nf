// Files: in order, as -resume needs them, and with names that tasks can take; the schema of the parameters.

// All properties of the schema, name → definition, in the order of its groups.
def schemaProperties(schemaPath) {
    return new groovy.json.JsonSlurper().parseText(file(schemaPath, glob: false).text)['$defs'].collectEntries { _name, group -> group.properties }
}

// value: all files of a channel, sorted by their names
def byName(files) {
    return files.toSortedList { a, b -> a.name <=> b.name }
}

// Tasks that work in a bucket share no folder with the launcher.
def inBucket(folder) {
    return folder.toUriString().contains('://')
}

// The paths of a parameter that takes several, separated by commas; a file whose name has a comma is one.
def listedPaths(text) {
    def one = text && text.contains(',') && !text.contains('://') && file(text, glob: false).exists()
    def paths = one ? [text] : (text ?: '').tokenize(',').collect { path -> path.trim() }
    return paths.collectMany { path -> tablesOfFolder(path) }
}

// The tables of a folder, as airrvec.app.verb_files.folder_tables has them: a merged reference, a release of VDJdb, or all
// tables in it. A path that is no folder is itself.
def tablesOfFolder(path) {
    def folder = file(path, glob: false)
    if (path.startsWith('http') || !folder.isDirectory()) {
        return [path]
    }
    def names = folder.list().findAll { name -> !folder.resolve(name).isDirectory() }
    def one = ['merged.parquet', 'vdjdb_full.txt', 'vdjdb.txt', 'vdjdb.slim.txt'].find { name -> names.contains(name) }
    def ending = ~/(?i)^(?!readme|licen[sc]e)[^.].*\.(csv|tsv|txt|parquet|h5ad|h5mu|json|zip)(\.(gz|bz2|zst))?$/
    def tables = one ? [one] : names.findAll { name -> ending.matcher(name).matches() }.sort()
    return tables ? tables.collect { name -> "${path.replaceAll('/+$', '')}/${name}".toString() } : [path]
}

def checkNames(parameter, paths) {
    def problem = paths.findResult { path -> problemOfName(path) }
    if (problem) {
        error("--${parameter}: ${problem}")
    }
}

// Nextflow links a task's files by the shell, and leaves these signs to it: x[1].tsv would be x1.tsv if there is one.
def problemOfName(path) {
    def name = inBucket(path) ? path.name : path.toString()
    def sign = name.find(/[*?\[\]{}$]/)
    if (sign) {
        return "the name of '${path}' holds '${sign}', which the shell of a task would read as a pattern or a variable; rename the file or its folder"
    }
    if (name =~ controls()) {
        return "the name of '${shown(name)}' holds a line break or another control character; rename the file or its folder"
    }
    return "${path.name}".startsWith('-') ? "the name of '${path}' begins with '-', which a program would read as an option; rename it" : null
}

// Control characters, among them line breaks, for which no shell has a plain form.
def controls() {
    return /[\x00-\x1f\x7f]/
}

// A text in one line.
def shown(text) {
    return text.replaceAll(controls(), '?')
}
