// Everything that is checked or read before the first task starts: parameters, samplesheet, help.

include { contentDigest ; listingDigest } from '../digest/main'

// All properties of the schema, name → definition, in the order of its groups.
def schemaProperties(schemaPath) {
    return new groovy.json.JsonSlurper().parseText(file(schemaPath, glob: false).text)['$defs'].collectEntries { _name, group -> group.properties }
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
    if (given.condition && !['cluster', 'compare'].any { name -> given[name].toString().toBoolean() }) {
        error('--condition: there is nothing to compare by it; give --cluster or --compare as well')
    }
    checkAnnotation(given)
    checkCloud(given, workflow.profile.tokenize(','))
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

// Region, queue and bucket are asked for by Nextflow itself, each in one sentence.
def checkCloud(given, profiles) {
    def cloud = [awsbatch: 'AWS Batch', googlebatch: 'Google Batch', azurebatch: 'Azure Batch'].find { profile, _name -> profiles.contains(profile) }
    def local = ['image', 'image_r'].find { name -> !given[name].contains('/') && (name == 'image' || given.export_sce.toString().toBoolean()) }
    if (cloud && local) {
        error("--${local}: '${given[local]}' is in no registry that ${cloud.value} could fetch it from; push the image to one, and give its full name")
    }
}

// Digests of the folders that a run reads. Nextflow looks at single files by itself.
def folderDigests(given, start) {
    def folders = ['background', 'benchmark_background'].collectEntries { name ->
        def found = given[name] ? file(given[name].toString(), glob: false) : null
        ["${name}_digest".toString(), found && found.isDirectory() ? listingDigest(found) : '']
    }
    return folders + [model_digest: contentDigest(start[1])]
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
    return [start: start, pretrain: pretrain, finetune: finetune, encoders: planEncoders(given, names, schemaPath), digests: folderDigests(given, start)]
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

// What is measured: list of [ name, own file or [], folder of weights or [], digest of these ], checked.
def planEncoders(given, models, schemaPath) {
    def known = schemaProperties(schemaPath).encoders
    def own = (given.encoder ?: '').toString().tokenize(',').collect { path -> file(path, glob: false) }
    def missing = own.find { path -> !path.isFile() }
    if (missing) {
        error("--encoder: there is no file '${missing}'")
    }
    checkNames('encoder', own)
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
    checkNames('hub_cache', weights ? [weights] : [])
    def shipped = given.encoders.tokenize(',')
    def reading = shipped.findAll { name -> name.tokenize('+').intersect(known.language_models) }
    def without = weights ? null : reading[0]
    if (without) {
        error("--encoders: '${without}' needs weights of a language model; say with --hub_cache in which folder they are (docs/models.md tells how to get them)")
    }
    def digest = reading ? listingDigest(weights) : ''
    return shipped.collect { name -> reading.contains(name) ? [name, [], weights, digest] : [name, [], [], ''] } + own.collect { path -> [path.baseName, path, [], contentDigest(path)] }
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
    def shipped = file("${projectDir}/conf/models", glob: false).listFiles().findAll { candidate -> candidate.extension == 'json' }
    def found = shipped.find { candidate -> candidate.baseName == preset.toString() } ?: file(preset.toString(), glob: false)
    if (!found.isFile()) {
        error("--${parameter}: '${preset}' is neither a file nor one of ${shipped.collect { candidate -> candidate.baseName }.sort().join(', ')}")
    }
    if (!(found.name ==~ /[A-Za-z0-9_.-]+\.json/)) {
        error("--${parameter}: '${found.name}' names the model: letters, digits, '.', '_' and '-' alone, then .json")
    }
    checkNames(parameter, [found])
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
    checkNames('model', [folder])
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
    catch (Throwable _problem) { // a StackOverflowError, where objects are nested too deeply
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
    def found = file(path, glob: false)
    try {
        if (!found.exists()) {
            return "there is no file '${path}'"
        }
        found.withInputStream { stream -> stream.read() }
        return problemOfName(found)
    }
    catch (Exception _problem) {
        return "'${path}' could not be read; may you read it and, if it is in a bucket, are your credentials set?"
    }
}

def checkNames(parameter, paths) {
    def problem = paths.findResult { path -> problemOfName(path) }
    if (problem) {
        error("--${parameter}: ${problem}")
    }
}

// Nextflow links a task's files by the shell, and leaves these signs to it: x[1].tsv would be x1.tsv if there is one.
def problemOfName(path) {
    def sign = (inBucket(path) ? path.name : path.toString()).find(/[*?\[\]{}$]/)
    return sign ? "the name of '${path}' holds '${sign}', which the shell of a task would read as a pattern or a variable; rename the file or its folder" : null
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
    def schema = new groovy.json.JsonSlurper().parseText(file(schemaPath, glob: false).text)
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

// The tables of a run, as CHECK takes them: part, key, line and path of a sample, format and species of another;
// table and map, a file or []; whether it is looked at; problem. The rules of the samplesheet are in bin/airrvec.
def tablesOfRun(given) {
    def others = ['labelled', 'reference'].findAll { part -> given[part] }.collect { part ->
        def map = given["${part}_columns"] ? file(given["${part}_columns"].toString(), glob: false) : []
        [part: part, key: part, format: given["${part}_format"] ?: null, species: given.species, table: file(given[part].toString(), glob: false), map: map, problem: null]
    }
    def tables = (given.input ? tablesOfSheet(given) : []) + others
    def allowed = withinLimit(tables)
    return tables.collect { entry -> entry + [looked: allowed.contains(entry.key)] }
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

def tablesOfSheet(given) {
    def sheet = file(given.input.toString(), glob: false)
    def lines = sheetText(sheet).split('\r\n|\n|\r', -1).toList().withIndex(1).findAll { line, _number -> line.replaceAll('[\\x00-\\x20,]', '') }
    def header = lines ? csvCells(lines[0][0]) : []
    return lines.drop(1).collect { line, number ->
        def row = [header, csvCells(line)].transpose().collectEntries()
        tableOfRow(row, number, sheet, given.columns ? file(given.columns.toString(), glob: false) : [])
    }
}

def tableOfRow(row, line, sheet, commonMap) {
    def table = fileOfSheet(row.path, 'path', sheet)
    def map = fileOfSheet(row.columns, 'columns', sheet)
    def problem = table.problem ?: map.problem
    def chosen = map.file ?: (commonMap && !row.format ? commonMap : [])
    return [part: 'sample', key: line, line: line, path: row.path, table: problem ? [] : table.file, map: problem ? [] : chosen, problem: problem]
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
