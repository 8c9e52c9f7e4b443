// Parameters: checked against nextflow_schema.json, typed, and listed by --help.

include { failure          } from '../advice/main'
include { schemaProperties } from '../files/main'
include { problemOf        } from '../values/main'

// map: the parameters, checked, with the types of the schema; from Nextflow 25.10 on the command line gives strings
def checkedParameters(given, schemaPath) {
    def known = schemaProperties(schemaPath)
    // Nextflow adds a kebab-case twin to every name.
    def unknown = (given.keySet() - known.keySet()).findAll { name -> !name.contains('-') }.collect { name ->
        "there is no parameter --${name}; did you mean --${nearest(name, known.keySet())}? `--help_full` lists all".toString()
    }
    def wrong = known.collect { name, definition -> [name, problemOf(name, given[name], definition)] }
        .findAll { _name, problem -> problem }
        .collect { name, problem -> "--${name}: ${problem}".toString() }
    def strict = given.validate_params.toString() != 'false'
    if ((strict ? unknown : []) + wrong) {
        error(failure((strict ? unknown : []) + wrong, 'problems in the parameters'))
    }
    unknown.each { problem -> log.warn(problem) }
    return known.collectEntries { name, definition -> [name, typed(given[name], definition.type)] }
}

// map: the same parameters, once those that need each other are there; the tables may be rows of the samplesheet
def checkedTogether(settings) {
    checkFolders(["folder of the pipeline": "${projectDir}", "work folder": workflow.workDir.toString()], workflow.containerEngine)
    checkTables(settings)
    checkAnnotation(settings)
    checkCloud(settings, workflow.profile.tokenize(','))
    if (settings.config_profile_name) {
        def about = ['description', 'contact', 'url'].collect { part -> settings["config_profile_${part}"] }
        log.info("Configuration of ${settings.config_profile_name}: ${about.findAll { text -> text }.join(', ')}")
    }
    return settings
}

def typed(value, type) {
    if (value == null) {
        return null
    }
    def text = value.toString()
    return type == 'boolean' ? text.toBoolean() : type == 'integer' ? text as Long : type == 'number' ? text as BigDecimal : text
}

// Nextflow starts the task of a container by a line in double quotation marks, in which these names stand.
def checkFolders(folders, engine) {
    folders.each { what, path ->
        def sign = engine ? path.find(/[`$"\\]/) : null
        if (sign) {
            error("the name of the ${what}, '${path}', holds '${sign}', which a shell would run where ${engine} is started; use another one (-w gives the work folder)")
        }
    }
}

def checkTables(settings) {
    if (!settings.input && !settings.labelled) {
        error('there is nothing to do: give a samplesheet with --input, or a labelled receptor table with --labelled')
    }
    if (settings.compare_by && !settings.input) {
        error('--compare_by: there is nothing to compare; give a samplesheet with --input')
    }
    if (settings.compare_within && !settings.compare_by && !settings.cluster) {
        error('--compare_within: it is the batch within which values are compared; give --compare_by as well, or --cluster')
    }
}

// What the annotation of receptors needs, and what it alone reads.
def checkAnnotation(given) {
    if (!given.annotate) {
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
    if (cloud && given.registry ==~ '(localhost|/).*') {
        error("--registry: ${cloud.value} could not fetch images from '${given.registry}'; push them to a registry, and give its name")
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

// Whether --help, --help_full or --version was given, and is answered.
def printed(given, schemaPath) {
    def asked = ['help_full', 'help', 'version'].find { name -> given[name].toString().toBoolean() }
    if (asked) {
        def all = asked == 'help_full' || given.show_hidden.toString().toBoolean()
        println(asked == 'version' ? "airrvec ${workflow.manifest.version}" : helpText(schemaPath, workflow.manifest, all))
    }
    return asked
}

// The parameters that most runs need, or all: the schema hides the others.
def helpText(schemaPath, manifest, all) {
    def schema = new groovy.json.JsonSlurper().parseText(file(schemaPath, glob: false).text)
    def shown = schema['$defs'].collect { _name, group ->
        [title: group.title, properties: group.properties.findAll { _key, definition -> all || !definition.hidden }]
    }.findAll { group -> group.properties }
    def width = shown.collectMany { group -> group.properties.keySet() }.collect { name -> name.size() }.max()
    def groups = shown.collect { group ->
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
${all ? '' : '\nMost runs need no others; --help_full lists all.\n'}"""
}
