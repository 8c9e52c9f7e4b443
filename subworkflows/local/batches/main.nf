// Batches: small samples share a task, which takes longer to start than to do its work.

// Rows in batches, in their order, each of at most a number of rows and, unless it is of one row, of bytes.
def inBatches(rows, sizes, bytes, most) {
    return [rows, sizes].transpose().inject([]) { batches, row ->
        def last = batches ? batches[-1] : []
        def room = last && last.size() < most && last.sum { other -> other[1] } + row[1] <= bytes
        room ? batches[0..<-1] + [last + [row]] : batches + [[row]]
    }.collect { batch -> batch.collect { row -> row[0] } }
}

// Batches of [ meta, table, column map or [] ]. Few tables share a task only if they are read in less time than it
// starts in, so that a changed one repeats no other that takes longer.
def batchesOfTables(rows) {
    def bytes = rows.size() > 16 ? 64_000_000 : 4_000_000
    return inBatches(rows, rows.collect { row -> bytesToRead(row[1]) }, bytes, 25)
        .collectMany { batch -> batch.split { row -> row[2] }.findAll { part -> part } }
        .collect { batch -> batchOf(batch) }
}

def batchOf(rows) {
    return [rows.collect { row -> row[0] }, rows.collect { row -> row[1] }, rows.collectMany { row -> row[2] ? [row[2]] : [] }]
}

// Text becomes about 8 times as long unpacked. The size of Parquet and HDF5 says little of their rows: one has a task alone.
def bytesToRead(table) {
    def packed = table.name ==~ /(?i).*\.(gz|bz2|xz|zst|zip)/
    return table.name ==~ /(?i).*\.(parquet|h5|h5ad|h5mu)/ ? 1L << 50 : table.size() * (packed ? 8 : 1)
}

// [ metas, files, … ], each in the order of the files, one of each kind for each table that could be read
def inOrder(metas, kinds) {
    def files = kinds.collect { made -> (made instanceof List ? made : [made]).sort { file -> file.name } }
    def ids = files[0].collect { file -> file.name.replaceFirst(/\.\w+\.\w+$/, '') }
    return [ids.collect { id -> metas.find { meta -> meta.id == id } }] + files
}

// channel: [ metas, cells, chains ] in batches of about half a million cells, for tasks that read the run's receptors
def largerBatches(batches) {
    return sortedRows(batches)
        .flatMap { rows -> inBatches(rows, rows.collect { row -> row[1].size() }, 25_000_000, 200) }
        .map { batch -> batch.transpose() }
}

// channel: rows [ meta, cells, chains ] of all samples, sorted by the names of the cells; nothing without samples
def samplesTogether(batches) {
    return sortedRows(batches).map { rows -> rows.findAll { row -> !row[0].labelled } }.filter { rows -> rows }
}

// channel: all rows [ meta, cells, chains ] of batches in one list, sorted by the names of the cells
def sortedRows(batches) {
    return batches.flatMap { rows -> rows.transpose() }.toSortedList { a, b -> a[1].name <=> b[1].name }
}

// channel: [ meta, file ] of each table in [ metas, files of all ]
def ofEach(files) {
    return filesOfEach(files).map { meta, parts -> [meta, parts[0]] }
}

// channel: [ meta, files, sorted ]
def filesOfEach(files) {
    return files.flatMap { metas, made ->
        def byTable = (made instanceof List ? made : [made]).groupBy { file -> file.name.replaceFirst(/\.\w+\.\w+$/, '') }
        metas.findAll { meta -> byTable[meta.id] }.collect { meta -> [meta, byTable[meta.id].sort { file -> file.name }] }
    }
}
