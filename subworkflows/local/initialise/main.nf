// Everything that is checked or read before the first task starts: parameters, samplesheet, help.

// All properties of the schema, name → definition, in the order of its groups.
def schemaProperties(schemaPath) {
    return new groovy.json.JsonSlurper().parseText(file(schemaPath).text)['$defs'].collectEntries { _name, group -> group.properties }
}

// Samples are compared by a metadata column.
def checkCondition(given, samples) {
    def columns = samples ? samples[0][0].metadata.keySet() : []
    if (given.condition && !columns.contains(given.condition.toString())) {
        error("--condition: the samplesheet has no metadata column '${given.condition}'; it has: ${columns.join(', ') ?: 'none'}")
    }
    if (given.condition && !['cluster', 'compare'].any { name -> given[name].toString().toBoolean() }) {
        error('--condition: there is nothing to compare by it; give --cluster or --compare as well')
    }
}

// The names of the input formats.
def formats(schemaPath) {
    return schemaProperties(schemaPath).labelled_format['enum']
}

def checkParameters(given, schemaPath) {
    def known = schemaProperties(schemaPath)
    // Nextflow adds a kebab-case twin to every name.
    (given.keySet() - known.keySet()).findAll { name -> !name.contains('-') }.each { name ->
        error("there is no parameter --${name}; did you mean --${nearest(name, known.keySet())}? `--help` lists all")
    }
    known.each { name, definition ->
        def problem = problemOf(given[name], definition)
        if (problem) {
            error("--${name}: ${problem}")
        }
    }
    if (given.labelled_format && given.labelled_columns) {
        error('--labelled_columns: a table with a column map has no format; leave out --labelled_format')
    }
    if (!given.input && !given.labelled) {
        error('there is nothing to do: give a samplesheet with --input, or a labelled receptor table with --labelled')
    }
    checkAnnotation(given)
    checkCloud(given, workflow.profile.tokenize(','))
    checkPartitions(given.outdir, given.partitions as Integer)
}

// What the annotation of receptors needs, and what it alone reads.
def checkAnnotation(given) {
    if (given.reference_format && given.reference_columns) {
        error('--reference_columns: a table with a column map has no format; leave out --reference_format')
    }
    if (!given.annotate.toString().toBoolean()) {
        if (given.reference) {
            error('--reference: it annotates receptors; give --annotate as well')
        }
        return
    }
    if (!given.reference && !given.labelled) {
        error('--annotate: there is nothing to annotate with; give labelled receptors with --reference or --labelled')
    }
    if (!given.input) {
        error('--annotate: there is nothing to annotate; give a samplesheet with --input')
    }
}

// A folder with the partitions of two runs would be read as one table.
def checkPartitions(outdir, number) {
    def own = number == 1 ? ['receptors.parquet'] : (0..<number).collect { index -> "receptors_${index.toString().padLeft(4, '0')}.parquet".toString() }
    def others = files("${outdir}/receptors/*.parquet").collect { path -> path.name } - own
    if (others) {
        error("--partitions: ${outdir}/receptors holds ${others.sort()[0]}, of a run with another number of them; give another --outdir, or remove its folders receptors and embeddings")
    }
}

// Region, queue and bucket are asked for by Nextflow itself, each in one sentence.
def checkCloud(given, profiles) {
    def cloud = [awsbatch: 'AWS Batch', googlebatch: 'Google Batch', azurebatch: 'Azure Batch'].find { profile, _name -> profiles.contains(profile) }
    def local = ['image', 'image_r'].find { name -> !given[name].contains('/') && (name == 'image' || given.export_sce.toString().toBoolean()) }
    if (cloud && local) {
        error("--${local}: '${given[local]}' is in no registry that ${cloud.value} could fetch it from; push the image to one, and give its full name")
    }
}

// What is learnt and measured, checked: start, [ name, folder or [] ]; pretrain and finetune, a preset's file or null; encoders.
def planLearning(given, schemaPath) {
    def known = schemaProperties(schemaPath)
    def finetunes = given.finetune.toString().toBoolean()
    def pretrain = given.pretrain ? presetFile('pretrain', given.pretrain) : null
    def finetune = finetunes ? presetFile('finetune_preset', given.finetune_preset) : null
    def start = startModel(given.model.toString(), known.model.variants)
    if (finetunes && !given.labelled) {
        error('--finetune: there is nothing to learn from; give a labelled receptor table with --labelled')
    }
    if (given.synthetic_receptors && !pretrain) {
        error('--synthetic_receptors: they are made for pre-training; give a preset with --pretrain as well')
    }
    if (pretrain) {
        checkPretraining(given, jsonObject('pretrain', pretrain), known.model['default'])
    }
    def trained = [pretrain, finetune].findAll { preset -> preset }.collect { preset -> preset.baseName }
    def names = (pretrain ? [] : [start[0]]) + trained
    def taken = trained.find { name -> known.encoders.choices.contains(name) || names.count(name) > 1 }
    if (taken) {
        error("'${taken}' would be the name of two models; copy the preset to a file of another name, and give that one")
    }
    if (trained && given.checkpoint_dir && !inBucket(workflow.workDir)) {
        makeFolder('checkpoint_dir', given.checkpoint_dir)
    }
    return [start: start, pretrain: pretrain, finetune: finetune, encoders: planEncoders(given, names, schemaPath)]
}

// The analyses that are asked for, in the order of the schema: list of [ name, scope ].
def planAnalyses(given, schemaPath) {
    def asked = given.analyses.toString().tokenize(',')
    def scopes = schemaProperties(schemaPath).analyses.scopes
    def alone = asked.find { name -> asked.size() > 1 && !scopes.containsKey(name) }
    if (alone) {
        error("--analyses: '${alone}' stands alone; leave out ${(asked - alone).join(', ')}, or '${alone}'")
    }
    return scopes.findAll { name, _scope -> asked == ['all'] || asked.contains(name) }.collect { name, scope -> [name, scope] }
}

// What is measured: list of [ name, own file or [], folder of weights or [] ], checked.
def planEncoders(given, models, schemaPath) {
    def known = schemaProperties(schemaPath).encoders
    def own = (given.encoder ?: '').toString().tokenize(',').collect { path -> file(path, glob: false) }
    def missing = own.find { path -> !path.isFile() }
    if (missing) {
        error("--encoder: there is no file '${missing}'")
    }
    def unfit = own.find { path -> !(path.baseName ==~ /[A-Za-z0-9_.-]+/) }
    if (unfit) {
        error("--encoder: '${unfit.name}' names the encoder: letters, digits, '.', '_' and '-' alone, then .py")
    }
    def names = own.collect { path -> path.baseName }
    def taken = names.find { name -> (known.choices + models).contains(name) || names.count(name) > 1 }
    if (taken) {
        error("--encoder: '${taken}' would be the name of two encoders; rename the file")
    }
    def weights = given.hub_cache ? file(given.hub_cache.toString(), glob: false) : []
    if (weights && !weights.isDirectory()) {
        error("--hub_cache: there is no folder '${given.hub_cache}'")
    }
    def shipped = given.encoders.tokenize(',')
    def reading = shipped.findAll { name -> name.tokenize('+').intersect(known.language_models) }
    def without = weights ? null : reading[0]
    if (without) {
        error("--encoders: '${without}' needs weights of a language model; say with --hub_cache in which folder they are (docs/models.md tells how to get them)")
    }
    return shipped.collect { name -> [name, [], reading.contains(name) ? weights : []] } + own.collect { path -> [path.baseName, path, []] }
}

def checkPretraining(given, preset, defaultModel) {
    if (given.model != defaultModel) {
        error('--model: pre-training starts from random weights; leave out --model, or --pretrain')
    }
    if (preset.objective?.contrastive in ['supervised', 'neighbour']) {
        error("--pretrain: '${given.pretrain}' learns from labels; give it as --finetune_preset, with --finetune")
    }
    if (preset.data == 'synthetic' && !given.synthetic_receptors) {
        error("--pretrain: '${given.pretrain}' learns from synthetic receptors; say how many with --synthetic_receptors")
    }
    if (preset.data == 'shuffled' && given.synthetic_receptors) {
        error("--synthetic_receptors: '${given.pretrain}' learns from the run's own receptors; leave them out")
    }
    if (!given.input && !given.synthetic_receptors) {
        error('--pretrain: there is nothing to learn from; give a samplesheet with --input, or --synthetic_receptors')
    }
}

// Tasks that work in a bucket share no folder with the launcher.
def inBucket(folder) {
    return folder.toUriString().contains('://')
}

// Now, since a container is to see it: docker would make it, but as root's.
def makeFolder(parameter, path) {
    def folder = file(path, glob: false)
    folder.mkdirs()
    if (!folder.isDirectory()) {
        error("--${parameter}: the folder '${path}' could not be made")
    }
}

// A preset of conf/models by its name, or a file of the user's.
def presetFile(parameter, preset) {
    def shipped = files("${projectDir}/conf/models/*.json")
    def found = shipped.find { candidate -> candidate.baseName == preset.toString() } ?: file(preset.toString(), glob: false)
    if (!found.isFile()) {
        error("--${parameter}: '${preset}' is neither a file nor one of ${shipped.collect { candidate -> candidate.baseName }.sort().join(', ')}")
    }
    if (!(found.name ==~ /[A-Za-z0-9_.-]+\.json/)) {
        error("--${parameter}: '${found.name}' names the model: letters, digits, '.', '_' and '-' alone, then .json")
    }
    jsonObject(parameter, found)
    return found
}

// A published variant, or the folder of a model: [ name, folder or [] ].
def startModel(model, variants) {
    if (variants.contains(model)) {
        return [model, []]
    }
    def folder = file(model, glob: false)
    def lacks = ['config.json', 'model.safetensors'].find { name -> !folder.resolve(name).exists() }
    if (!folder.isDirectory() || lacks) {
        def problem = folder.isDirectory() ? "the folder '${model}' lacks ${lacks}" : "'${model}' is neither the folder of a model nor one of ${variants.join(', ')}"
        error("--model: ${problem}")
    }
    def name = jsonObject('model', folder.resolve('config.json')).name ?: folder.name
    if (!(name ==~ /[A-Za-z0-9_.-]+/)) {
        error("--model: '${name}', the name in its config.json, may hold letters, digits, '.', '_' and '-' alone")
    }
    return [name, folder]
}

def jsonObject(parameter, path) {
    try {
        return new groovy.json.JsonSlurper().parseText(path.text) as Map
    }
    catch (Exception _problem) {
        error("--${parameter}: '${path}' is no JSON object")
    }
}

// What is wrong with a parameter's value, or null. From Nextflow 25.10 on the command line gives strings.
def problemOf(value, definition) {
    if (value == null) {
        return null
    }
    def text = value.toString()
    if (value instanceof Boolean && definition.type != 'boolean') {
        return "needs a value (${definition.description})"
    }
    if (definition.type == 'boolean' && !['true', 'false'].contains(text)) {
        return "'${text}' is not true or false"
    }
    if (definition.type == 'integer' && !(text ==~ /-?\d+/)) {
        return "'${text}' is not a whole number"
    }
    if (definition.type == 'number' && !(text ==~ /-?\d+(\.\d+)?/)) {
        return "'${text}' is not a number"
    }
    if (definition.minimum != null && new BigDecimal(text) < definition.minimum) {
        return "${text} is below the least allowed value, ${definition.minimum}"
    }
    if (definition.maximum != null && new BigDecimal(text) > definition.maximum) {
        return "${text} is above the largest allowed value, ${definition.maximum}"
    }
    if (definition['enum'] && !definition['enum'].contains(text)) {
        return "'${text}' is not one of ${definition['enum'].join(', ')}"
    }
    def unknown = definition.choices ? text.tokenize(',+') - definition.choices : []
    if (unknown) {
        return "'${unknown[0]}' is not one of ${definition.choices.join(', ')}"
    }
    if (definition.choices && text.tokenize(',').toUnique() != text.tokenize(',')) {
        return "'${text}' names one of them twice"
    }
    if (definition.pattern && !(text =~ definition.pattern)) {
        return "'${text}' ${definition.errorMessage ?: "does not fit the pattern ${definition.pattern}"}"
    }
    return definition.exists ? problemOfFile(text) : null
}

// A bucket may say that a file is there, and yet not give it.
def problemOfFile(path) {
    def found = file(path)
    try {
        if (!found.exists()) {
            return "there is no file '${path}'"
        }
        found.withInputStream { stream -> stream.read() }
        return null
    }
    catch (Exception _problem) {
        return "'${path}' could not be read; may you read it and, if it is in a bucket, are your credentials set?"
    }
}

// The known name that shares most pairs of letters with a mistyped one.
def nearest(name, known) {
    return known.max { candidate ->
        def shared = letterPairs(name).intersect(letterPairs(candidate)).size()
        2 * shared / (name.size() + candidate.size())
    }
}

def letterPairs(word) {
    def padded = " ${word.toLowerCase()} "
    return (0..padded.size() - 2).collect { start -> padded[start..start + 1] }
}

def helpText(schemaPath, manifest) {
    def schema = new groovy.json.JsonSlurper().parseText(file(schemaPath).text)
    def width = schemaProperties(schemaPath).keySet().collect { name -> name.size() }.max()
    def groups = schema['$defs'].collect { _name, group ->
        def lines = group.properties.collect { name, definition ->
            def fallback = definition['default'] == null || definition.type == 'boolean' ? '' : " [${definition['default']}]"
            "  --${name.padRight(width)}  ${definition.description}${fallback}"
        }
        "${group.title}\n${lines.join('\n')}"
    }
    return """
airrvec ${manifest.version}: ${manifest.description}

  nextflow run . --input samplesheet.csv --outdir results [-profile docker]
  nextflow run . -profile demo

${groups.join('\n\n')}
"""
}

// The samples of a samplesheet: list of [ meta, table, column map or [] ]; meta: id, format, labelled, metadata.
def readSamplesheet(path, formats, columnMap) {
    def sheet = file(path)
    if (!sheet.text.trim()) {
        error("${sheet.name}: the samplesheet is empty; it needs the columns sample, path and, optionally, format or columns")
    }
    def lines = sheet.readLines('UTF-8').findAll { line -> line.trim() }.collect { line -> csvCells(line.replace('\uFEFF', '')) }
    def columns = lines[0]
    def rows = lines.tail().withIndex().collect { line, index ->
        if (line.size() != columns.size()) {
            error("${sheet.name}, row ${index + 1}: holds ${line.size()} cells, the header ${columns.size()}")
        }
        [columns, line].transpose().collectEntries()
    }
    ['sample', 'path'].each { column ->
        if (!columns.contains(column)) {
            error("${sheet.name}: the column '${column}' is missing; the samplesheet has: ${columns.join(', ')}")
        }
    }
    def clash = columns.find { column -> reservedColumns().contains(column) }
    if (clash) {
        error("${sheet.name}: the column '${clash}' is one of airrvec's own; give it another name")
    }
    if (!rows) {
        error("${sheet.name}: the samplesheet has a header and no rows")
    }
    def seen = [:]
    return rows.withIndex().collect { row, index ->
        def where = "${sheet.name}, row ${index + 1}, column"
        if (!row.sample) {
            error("${where} 'sample': the sample has no name")
        }
        if (!(row.sample ==~ /[A-Za-z0-9_.-]+/)) {
            error("${where} 'sample': '${row.sample}' may hold letters, digits, '.', '_' and '-' alone")
        }
        if (row.sample == 'labelled') {
            error("${where} 'sample': the name 'labelled' is kept for --labelled")
        }
        if (row.sample == 'all_samples') {
            error("${where} 'sample': the name 'all_samples' is kept for --export_sce")
        }
        if (seen.containsKey(row.sample)) {
            error("${where} 'sample': '${row.sample}' is the name of row ${seen[row.sample]} as well")
        }
        seen[row.sample] = index + 1
        if (row.format && !formats.contains(row.format)) {
            error("${where} 'format': '${row.format}' is not one of ${formats.join(', ')}; left empty, it is found from the header")
        }
        if (row.format && row.columns) {
            error("${where} 'columns': a table with a column map has no format; leave one of the two cells empty")
        }
        if (!row.path) {
            error("${where} 'path': the sample has no file")
        }
        def ownMap = row.columns ? besideSheet(row.columns, sheet, "${where} 'columns'") : []
        def commonMap = columnMap && !row.format ? file(columnMap) : []
        def metadata = row.subMap(columns - ['sample', 'path', 'format', 'columns']).collectEntries { name, value -> [name, value ?: null] }
        [
            [id: row.sample, format: row.format ?: '', labelled: false, metadata: metadata],
            besideSheet(row.path, sheet, "${where} 'path'"),
            ownMap ?: commonMap,
        ]
    }
}

// The cells of one line; splitCsv of Nextflow 24.10 does not know quotes inside of quotes.
def csvCells(line) {
    return line.findAll(/(?:^|(?<=,))(?:\s*"(?:[^"]|"")*"\s*|[^,"]*)(?=,|$)/).collect { cell ->
        cell.trim().replaceAll(/^"|"$/, '').replace('""', '"')
    }
}

def labelledSample(path, format, columnMap) {
    return [[id: 'labelled', format: format ?: '', labelled: true, metadata: [:]], file(path), columnMap ? file(columnMap) : []]
}

// A relative path is looked up beside the samplesheet, then in the folder of the launch.
def besideSheet(path, sheet, where) {
    def beside = path.contains('://') || path.startsWith('/') ? file(path) : sheet.parent.resolve(path)
    def found = beside.exists() ? beside : file(path)
    if (!found.exists()) {
        error("${where}: there is no file '${path}'")
    }
    return found
}

// Columns of the table `cells`, which a samplesheet's metadata would hide.
def reservedColumns() {
    return [
        'sample_id', 'cell_id', 'receptor_id', 'chain_pairing', 'input_rows', 'duplicate_count', 'umi_count', 'epitope',
        'antigen_gene', 'antigen_species', 'mhc_class', 'mhc_a', 'mhc_b', 'reference_id', 'split', 'uncertain_calls',
        'tra_v_call_raw', 'tra_j_call_raw', 'tra_junction_aa_raw', 'trb_v_call_raw', 'trb_j_call_raw', 'trb_junction_aa_raw',
    ]
}

// One value that changes with any file that tasks import, as Nextflow looks at the named script alone.
def libraryDigest(projectDir) {
    def sources = files("${projectDir}/bin/airrvec/**.{py,tsv}").sort { source -> source.toString() } + [file("${projectDir}/uv.lock")]
    return sources.collect { source -> source.text }.join('\n').md5()
}
