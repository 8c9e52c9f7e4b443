// Tables of a run: the rows of the samplesheet, --labelled and --reference.

include { inBucket ; listedPaths ; problemOfName } from '../files/main'

// The tables of a run, as CHECK takes them: the rows of the samplesheet, and format and species of another table; table
// and map, a file or []; whether it is looked at; problem. The rules of the samplesheet are in bin/airrvec.
def tablesOfRun(given, rows) {
    def parts = ['labelled'].findAll { part -> given[part] && !rows.any { row -> row.part == part } }.collect { part -> [part, given[part]] }
    def others = (parts + given.references.collect { path -> ['reference', path] }).withIndex().collect { entry, number ->
        def part = entry[0]
        def path = entry[1]
        [part: part, key: "${part} ${number}".toString(), path: path, format: null, species: given.species, table: file(path, glob: false), map: [], problem: null]
    }
    def tables = rows + others
    def allowed = withinLimit(tables)
    return tables.collect { entry -> entry + [looked: allowed.contains(entry.key)] }
}

// The labelled and the reference table, by parameter or by a row of the samplesheet: map, role → path or null. There may
// be several references, by both: references are the paths that the parameter gives.
def pathsOfRoles(given, rows) {
    return ['labelled', 'reference'].collectEntries { role ->
        def row = rows.find { row -> row.part == role }
        if (row && given[role] && role == 'labelled') {
            error("--${role}: the samplesheet has a table with this role too (line ${row.line}); leave out one of the two")
        }
        [role, given[role] ?: row?.path]
    } + [references: listedPaths(given.reference)]
}

// Tables in a bucket are copied to be looked at: the first of them, up to 2 GB together.
def withinLimit(tables) {
    def total = 0L
    return tables.findAll { entry ->
        def remote = entry.table && inBucket(entry.table)
        total += remote ? entry.table.size() : 0
        entry.table && (!remote || total <= 2L << 30)
    }.collect { entry -> entry.key }
}

// The rows of the samplesheet: role, sample, line, path, table, map, problem. They decide which tasks there are and what
// files these take, so they are read before the first task; CHECK_SAMPLES compares them with what Python reads.
def rowsOfSheet(given) {
    if (!given.input) {
        return []
    }
    def sheet = file(given.input, glob: false)
    def lines = sheetText(sheet).split('\r\n|\n|\r', -1).toList().withIndex(1).findAll { line, _number -> line.replaceAll('[\\x00-\\x20,]', '') }
    def header = lines ? csvCells(lines[0][0]) : []
    return lines.drop(1).collect { line, number ->
        def row = [header, csvCells(line)].transpose().collectEntries()
        tableOfRow(row, number, sheet, given.column_map ? file(given.column_map, glob: false) : [])
    }
}

def tableOfRow(row, line, sheet, commonMap) {
    def table = fileOfSheet(row.path, 'path', sheet)
    def map = fileOfSheet(row.column_map, 'column_map', sheet)
    def problem = table.problem ?: map.problem
    def chosen = map.file ?: (commonMap && !row.format ? commonMap : [])
    return [part: row.role ?: 'sample', sample: row.sample, key: line, line: line, path: row.path, table: problem ? [] : table.file, map: problem ? [] : chosen, problem: problem]
}

// A file that the samplesheet names: a relative path beside it, else in the folder of the launch. Map: file or [], problem.
def fileOfSheet(path, column, sheet) {
    if (!path) {
        return [file: [], problem: null]
    }
    try {
        def beside = path.contains('://') || path.startsWith('/') ? file(path, glob: false) : sheet.parent.resolve(path)
        def found = beside.exists() ? beside : file(path, glob: false)
        def problem = !found.exists() ? "there is no file '${path}'" : found.isDirectory() ? "'${path}' is a folder" : problemOfName(found)
        return [file: problem ? [] : found, problem: problem ? "column '${column}': ${problem}".toString() : null]
    }
    catch (Exception problem) {
        return [file: [], problem: "column '${column}': '${path}' could not be read (${problem.message})".toString()]
    }
}

// The samplesheet, which may be packed by gzip; nothing where it is no text, as the check tells.
def sheetText(sheet) {
    if (sheet.size() > 64L << 20) {
        return ''
    }
    try {
        def bytes = sheet.bytes
        def packed = bytes.size() > 1 && (bytes[0] & 0xff) == 0x1f && (bytes[1] & 0xff) == 0x8b
        return new String(packed ? new java.util.zip.GZIPInputStream(new ByteArrayInputStream(bytes)).bytes : bytes, 'UTF-8') - '\uFEFF'
    }
    catch (IOException _problem) {
        return ''
    }
}

// The cells of one line, by the same expression as in bin/airrvec/sheet_text.py.
def csvCells(line) {
    return line.findAll(/(?:^|(?<=,))(?:\s*"[^"]*(?:""[^"]*)*"\s*|[^,]*)(?=,|$)/).collect { cell ->
        def text = cell.trim()
        (text ==~ /"[^"]*(?:""[^"]*)*"/ ? text[1..<-1].replace('""', '"') : text).trim()
    }
}
