// Presets of training, and the user's Python files that they or parameters name.

include { checkNames } from '../files/main'

// A preset of conf/models by its name, or a file of the user's.
def presetFile(parameter, preset) {
    def shipped = file("${projectDir}/conf/models", glob: false).listFiles().findAll { candidate -> candidate.extension == 'json' }
    def found = shipped.find { candidate -> candidate.baseName == preset } ?: file(preset, glob: false)
    if (!found.isFile()) {
        error("--${parameter}: '${preset}' is neither a file nor one of ${shipped.collect { candidate -> candidate.baseName }.sort().join(', ')}")
    }
    if (!(found.name ==~ /[A-Za-z0-9_][A-Za-z0-9_.-]*\.json/)) {
        error("--${parameter}: '${found.name}' names the model: letters, digits, '.', '_' and '-' alone, no '.' or '-' first, then .json")
    }
    checkNames(parameter, [found])
    jsonObject(parameter, found)
    return found
}

// As airrvec.training.presets has it: a contrastive term that is not written is "auto". What a Python file learns from, only
// the task knows.
def learnsFromLabels(preset) {
    return !(preset.objective?.contrastive in [null, 'auto'])
}

// The user's Python files of a training: map, loss and callbacks → file or []. A preset names those that lie beside it; a
// parameter goes first.
def ownCode(given, parameter, preset) {
    if (!preset) {
        return [loss: [], callbacks: []]
    }
    def content = jsonObject(parameter, preset)
    def words = [loss: content.objective instanceof Map ? content.objective.contrastive : null, callbacks: content.callbacks]
    def parameters = [loss: parameter == 'pretrain' ? 'pretrain_loss' : 'finetune_loss', callbacks: 'train_callbacks']
    return words.collectEntries { kind, word ->
        def name = parameters[kind]
        def beside = word instanceof CharSequence && word.endsWith('.py') ? preset.resolveSibling(word.toString()) : null
        def path = given[name] ? file(given[name], glob: false) : beside
        if (path) {
            checkCode(given[name] ? name : parameter, path)
        }
        [kind, path ?: []]
    }
}

def checkCode(parameter, path) {
    if (!path.isFile()) {
        error("--${parameter}: there is no file '${path}'")
    }
    if (!(path.name ==~ /[A-Za-z0-9_][A-Za-z0-9_.-]*\.py/)) {
        error("--${parameter}: '${path.name}' is no name of a Python file: letters, digits, '.', '_' and '-' alone, no '.' or '-' first, then .py")
    }
    checkNames(parameter, [path])
}

def jsonObject(parameter, path) {
    try {
        return new groovy.json.JsonSlurper().parseText(path.text) as Map
    }
    catch (Throwable _problem) { // a StackOverflowError, where objects are nested too deeply
        error("--${parameter}: '${path}' is no JSON object")
    }
}
