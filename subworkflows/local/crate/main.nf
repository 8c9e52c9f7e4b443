// The Workflow Run RO-Crate of a run (profile 0.5, https://w3id.org/ro/wfrun/workflow): its workflow, parameters, inputs
// and results as linked data, from the rows of the manifest.

// Writes ro-crate-metadata.json into the folder of the results, and the workflow's script into pipeline_info.
def writeCrate(run, rows) {
    if (!rows) {
        return
    }
    def root = file(run.settings.outdir, glob: false)
    def script = root.resolve('pipeline_info/main.nf')
    script.text = file("${projectDir}/main.nf", glob: false).text
    def text = groovy.json.JsonOutput.prettyPrint(groovy.json.JsonOutput.toJson(crate(run, rows)))
    root.resolve('ro-crate-metadata.json').text = text + '\n'
}

def crate(run, rows) {
    def results = rows.findAll { row -> row.kind == 'result' }.collect { row -> fileEntity(idOf(row.path), row) }
    def inputs = rows.findAll { row -> row.kind == 'input' }
        .collect { row -> fileEntity(row.file.toUri().toString(), row) }
        .unique { entity -> entity['@id'] }
    // Whom to write to is nobody else's business.
    def left = ['references', 'email', 'email_on_fail']
    def values = run.settings.findAll { name, value -> value != null && !left.contains(name) }
        .collect { name, value -> [name: name.toString(), value: value instanceof Collection ? value.join(',') : value] }
        .sort { entry -> entry.name }
    def files = results + [manifestEntity()]
    def parts = [[id('pipeline_info/main.nf')], ids(files), ids(inputs)].flatten()
    def context = ['https://w3id.org/ro/crate/1.1/context', 'https://w3id.org/ro/terms/workflow-run/context']
    def graph = [descriptor(), dataset(parts), licence(), workflowEntity(values), language(), user(), action(values, inputs, files)]
    return ['@context': context, '@graph': graph + profiles() + files + inputs + values.collectMany { entry -> parameterEntities(entry) }]
}

def descriptor() {
    def conforms = [id('https://w3id.org/ro/crate/1.1'), id(profiles().last()['@id'])]
    return ['@id': 'ro-crate-metadata.json', '@type': 'CreativeWork', about: id('./'), conformsTo: conforms]
}

def dataset(parts) {
    return [
        '@id': './',
        '@type': 'Dataset',
        name: "airrvec: run ${workflow.runName}".toString(),
        description: 'Normalised T-cell receptors, their vectors, and what was found with them, by the pipeline airrvec',
        datePublished: seconds(workflow.complete),
        author: id('#user'),
        license: id('#licence'),
        conformsTo: ids(profiles()),
        hasPart: parts,
        mainEntity: id('pipeline_info/main.nf'),
        mentions: id("#${workflow.sessionId}".toString()),
    ]
}

def profiles() {
    def runs = 'https://w3id.org/ro/wfrun'
    return [["${runs}/process/0.5", 'Process Run Crate', '0.5'], ["${runs}/workflow/0.5", 'Workflow Run Crate', '0.5'], ['https://w3id.org/workflowhub/workflow-ro-crate/1.0', 'Workflow RO-Crate', '1.0']]
        .collect { name, title, version -> ['@id': name.toString(), '@type': 'CreativeWork', name: title, version: version] }
}

def licence() {
    def words = 'The pipeline states no licence of these results; whoever shares them does'
    return ['@id': '#licence', '@type': 'CreativeWork', name: 'Not stated', description: words]
}

def workflowEntity(values) {
    def version = [workflow.manifest.version, workflow.commitId].findAll { word -> word }.join(', commit ')
    return [
        '@id': 'pipeline_info/main.nf',
        '@type': ['File', 'SoftwareSourceCode', 'ComputationalWorkflow'],
        name: 'airrvec',
        encodingFormat: 'text/plain',
        description: workflow.manifest.description,
        version: version,
        url: workflow.manifest.homePage,
        license: id('https://spdx.org/licenses/MIT'),
        programmingLanguage: id('#nextflow'),
        input: values.collect { entry -> id("#parameter/${entry.name}".toString()) },
        conformsTo: id('https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE'),
    ]
}

def language() {
    def page = 'https://www.nextflow.io/'
    return ['@id': '#nextflow', '@type': 'ComputerLanguage', name: 'Nextflow', identifier: id(page), url: id(page), version: workflow.nextflow.version.toString()]
}

def user() {
    return ['@id': '#user', '@type': 'Person', name: workflow.userName]
}

def action(values, inputs, files) {
    return [
        '@id': "#${workflow.sessionId}".toString(),
        '@type': 'CreateAction',
        name: "Run ${workflow.runName}".toString(),
        description: workflow.commandLine,
        instrument: id('pipeline_info/main.nf'),
        agent: id('#user'),
        startTime: seconds(workflow.start),
        endTime: seconds(workflow.complete),
        actionStatus: id(workflow.success ? 'http://schema.org/CompletedActionStatus' : 'http://schema.org/FailedActionStatus'),
        object: ids(inputs) + values.collect { entry -> id("#value/${entry.name}".toString()) },
        result: ids(files),
    ]
}

// A parameter of the workflow, and its value in this run.
def parameterEntities(entry) {
    def types = [(Boolean): 'Boolean', (Integer): 'Integer', (Long): 'Integer', (BigDecimal): 'Float', (Double): 'Float']
    def type = types.find { kind, _name -> kind.isInstance(entry.value) }?.value ?: 'Text'
    def profile = id('https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE')
    def formal = [
        '@id': "#parameter/${entry.name}".toString(),
        '@type': 'FormalParameter',
        name: entry.name,
        additionalType: type,
        conformsTo: profile,
        workExample: id("#value/${entry.name}".toString()),
    ]
    def value = [
        '@id': "#value/${entry.name}".toString(),
        '@type': 'PropertyValue',
        name: entry.name,
        value: entry.value.toString(),
        exampleOfWork: id("#parameter/${entry.name}".toString()),
    ]
    return [formal, value]
}

def fileEntity(name, row) {
    def format = formats()[row.path.tokenize('/').last().replaceFirst(/\.gz$/, '').tokenize('.').last()] ?: 'application/octet-stream'
    def made = row.process ? [description: "${row.kind == 'input' ? 'Read' : 'Written'} by ${row.process}, code ${row.code}".toString()] : [:]
    return ['@id': name, '@type': 'File', name: row.path.tokenize('/').last(), contentSize: row.size.toString(), sha256: row.sha256, encodingFormat: format] + made
}

def manifestEntity() {
    def description = 'SHA-256, size, rows and schema of every input and result'
    return ['@id': 'pipeline_info/manifest.tsv', '@type': 'File', name: 'manifest.tsv', description: description, encodingFormat: formats().tsv]
}

// Media types, by the end of a file's name.
def formats() {
    return [
        parquet: 'application/vnd.apache.parquet',
        tsv: 'text/tab-separated-values',
        csv: 'text/csv',
        txt: 'text/plain',
        md: 'text/markdown',
        html: 'text/html',
        json: 'application/json',
        yml: 'application/yaml',
        svg: 'image/svg+xml',
        png: 'image/png',
        pdf: 'application/pdf',
        xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
        h5ad: 'application/x-hdf5',
    ]
}

// A path as a relative reference: blanks and the like as in URLs.
def idOf(path) {
    return new URI(null, null, './' + path, null).rawPath.substring(2)
}

def seconds(time) {
    return time.truncatedTo(java.time.temporal.ChronoUnit.SECONDS).toString()
}

def id(name) {
    return ['@id': name]
}

def ids(entities) {
    return entities.collect { entity -> id(entity['@id']) }
}
