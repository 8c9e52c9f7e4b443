// Values of parameters: what the schema allows. The command line gives texts and, before Nextflow 25.10, numbers; a file
// of parameters gives null, lists, maps and dates as well.

include { controls ; listedPaths ; problemOfName ; shown } from '../files/main'

// What is wrong with a parameter's value, or null.
def problemOf(name, value, definition) {
    // Of a file of parameters: a parameter that has no default is not given by it.
    if (value == null) {
        def fallback = definition['default']
        return fallback == null || definition.type == 'boolean' && !fallback ? null : "null is no value; leave it out for the default, ${fallback}"
    }
    def text = value.toString()
    return problemOfType(name, value, text, definition) ?: problemOfValue(text, definition)
}

def problemOfType(name, value, text, definition) {
    if (value instanceof Collection || value instanceof Map) {
        return "${shown(text)} is a ${value instanceof Map ? 'map' : 'list'}, where one value is meant${definition.type == 'string' ? '; write several in one text, separated by commas' : ''}"
    }
    if (!(value instanceof CharSequence || value instanceof Number || value instanceof Boolean)) {
        return "${shown(text)} is no text; put it in quotation marks"
    }
    if (text =~ controls()) {
        return "'${shown(text)}' holds a line break or another control character; leave it out"
    }
    if (!text.trim()) {
        return "is empty; leave it out, or give a value (${definition.description})"
    }
    if (value instanceof Boolean && definition.type != 'boolean') {
        return "needs a value (${definition.description})"
    }
    if (value instanceof Number && definition.type == 'string' && !isTyped(name, text)) {
        return "${text} is a number, where a text is meant; put it in quotation marks"
    }
    if (definition.type == 'boolean' && !['true', 'false'].contains(text)) {
        return "'${text}' is not true or false"
    }
    if (definition.type == 'integer' && !(text ==~ /-?\d+/)) {
        return "'${text}' is not a whole number"
    }
    if (definition.type == 'integer' && text.size() > 18) {
        return "${text} is too large"
    }
    return definition.type == 'number' && !(text ==~ /-?\d+(\.\d+)?([eE][-+]?\d{1,3})?/) ? "'${text}' is not a number" : null
}

// Before Nextflow 25.10 the command line makes numbers of texts: --multiqc_title 2026.
def isTyped(name, text) {
    def words = workflow.commandLine.tokenize(' =').collect { word -> word.replaceAll(/^['"]|['"]$/, '') }
    return words.withIndex().any { word, place -> word in ["--${name}".toString(), "--${name.replace('_', '-')}".toString()] && words[place + 1] == text }
}

def problemOfValue(text, definition) {
    if (definition.minimum != null && new BigDecimal(text) < definition.minimum) {
        return "${text} is below the least allowed value, ${definition.minimum}"
    }
    if (definition.maximum != null && new BigDecimal(text) > definition.maximum) {
        return "${text} is above the largest allowed value, ${definition.maximum}"
    }
    if (definition['enum'] && !definition['enum'].contains(text)) {
        return "'${text}' is not one of ${definition['enum'].join(', ')}"
    }
    def words = definition.files ? text.tokenize(',').findAll { word -> !word.endsWith(definition.files) } : text.tokenize(',')
    def unknown = definition.choices ? words.collectMany { word -> word.tokenize('+') } - definition.choices : []
    if (unknown) {
        return "'${unknown[0]}' is not one of ${definition.choices.join(', ')}${definition.files ? ", or a ${definition.files} file" : ''}"
    }
    if (definition.choices && text.tokenize(',').toUnique() != text.tokenize(',')) {
        return "'${text}' names one of them twice"
    }
    if (definition.pattern && !(text =~ definition.pattern)) {
        return "'${text}' ${definition.errorMessage ?: "does not fit the pattern ${definition.pattern}"}"
    }
    def paths = definition.several ? listedPaths(text) : [text]
    if (paths.toUnique() != paths) {
        return "'${text}' names one of them twice"
    }
    return definition.exists ? paths.findResult { path -> problemOfFile(path) } : null
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
