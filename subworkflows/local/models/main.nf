// Models, presets, encoders and analyses of a run, checked before the first task.

include { contentDigest ; listingDigest } from '../digest/main'
include { checkNames ; inBucket ; schemaProperties } from '../files/main'
include { jsonObject ; learnsFromLabels ; ownCode ; presetFile } from '../presets/main'

// map: models, encoders and analyses of a run, checked
def planRun(given, schemaPath) {
    def plan = planLearning(given, schemaPath)
    def extras = (plan.pretrain || plan.finetune ? ['learn', given.train_logger] : []) + [plan.encoders.any { encoder -> encoder[2] } ? 'plm' : null]
    checkNames('background', given.background ? [file(given.background, glob: false)] : [])
    return plan + [analyses: planAnalyses(given, schemaPath), extras: extras.findAll { extra -> extra }]
}

// Digests of the folders that a run reads. Nextflow looks at single files by itself.
def folderDigests(given, start) {
    def background = given.background ? file(given.background, glob: false) : null
    def listed = background && background.isDirectory() ? listingDigest(background) : ''
    return [background_digest: listed, model_digest: contentDigest(start[1])]
}

// What is learnt and measured, checked: start, [ name, folder or [] ]; pretrain and finetune, a preset's file or null; code,
// the user's Python files of both; encoders.
def planLearning(given, schemaPath) {
    def known = schemaProperties(schemaPath)
    def finetunes = given.finetune
    def pretrain = given.pretrain ? presetFile('pretrain', given.pretrain) : null
    def finetune = finetunes ? presetFile('finetune_preset', given.finetune_preset) : null
    def start = startModel(given.model, known.model.variants)
    if (finetunes && !given.labelled) {
        error('--finetune: there is nothing to learn from; give a labelled receptor table with --labelled')
    }
    if (given.synthetic_receptors && !pretrain) {
        error('--synthetic_receptors: they are made for pre-training; give a preset with --pretrain as well')
    }
    def code = [pretrain: ownCode(given, 'pretrain', pretrain), finetune: ownCode(given, 'finetune_preset', finetune)]
    if (pretrain) {
        checkPretraining(given, code.pretrain, jsonObject('pretrain', pretrain), known.model['default'])
    }
    if (finetune && !code.finetune.loss && !learnsFromLabels(jsonObject('finetune_preset', finetune))) {
        error("--finetune_preset: '${given.finetune_preset}' does not learn from labels; give neighbour, finetuned, or a preset of your own whose contrastive term is one of these or a Python file")
    }
    def trained = [pretrain, finetune].findAll { preset -> preset }.collect { preset -> preset.baseName }
    def names = (pretrain ? [] : [start[0]]) + trained
    def taken = trained.find { name -> known.encoders.choices.contains(name) || names.count(name) > 1 }
    if (taken) {
        error("'${taken}' would be the name of two models; copy the preset to a file of another name, and give that one")
    }
    def ends = [docker: /:/, podman: /:/, apptainer: /[:,]/, singularity: /[:,]/][workflow.containerEngine]
    def sign = trained && ends ? given.checkpoint_dir?.find(ends) : null
    if (sign) {
        error("--checkpoint_dir: '${given.checkpoint_dir}' holds '${sign}', where ${workflow.containerEngine} would end the name of the folder; give one without")
    }
    if (trained && given.checkpoint_dir && !inBucket(workflow.workDir)) {
        makeFolder('checkpoint_dir', given.checkpoint_dir)
    }
    return [start: start, pretrain: pretrain, finetune: finetune, code: code, encoders: planEncoders(given, names, schemaPath)]
}

// The analyses that are asked for, in the order of the schema: list of [ name, scope ].
def planAnalyses(given, schemaPath) {
    def asked = given.analyses.tokenize(',')
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
    def words = given.encoders.tokenize(',')
    def own = ownEncoders(words, known.choices + models)
    def weights = given.hub_cache ? file(given.hub_cache, glob: false) : []
    if (weights && !weights.isDirectory()) {
        error("--hub_cache: there is no folder '${given.hub_cache}'")
    }
    checkNames('hub_cache', weights ? [weights] : [])
    def reading = (words - own.keySet()).findAll { name -> name.tokenize('+').intersect(known.language_models) }
    def without = weights ? null : reading[0]
    if (without) {
        error("--encoders: '${without}' needs weights of a language model; say with --hub_cache in which folder they are (docs/reference/models.md tells how to get them)")
    }
    def digest = reading ? listingDigest(weights) : ''
    return words.collect { word ->
        def file = own[word]
        file ? [file.baseName, file, [], contentDigest(file)] : [word, [], reading.contains(word) ? weights : [], reading.contains(word) ? digest : '']
    }
}

// The user's own encoders among --encoders: map, word → Python file, checked.
def ownEncoders(words, takenNames) {
    def own = words.findAll { word -> word.endsWith('.py') }.collectEntries { word -> [word, file(word, glob: false)] }
    def missing = own.values().find { path -> !path.isFile() }
    if (missing) {
        error("--encoders: there is no file '${missing}'")
    }
    checkNames('encoders', own.values())
    def unfit = own.values().find { path -> !(path.baseName ==~ /[A-Za-z0-9_][A-Za-z0-9_.-]*/) }
    if (unfit) {
        error("--encoders: '${unfit.name}' names the encoder: letters, digits, '.', '_' and '-' alone, no '.' or '-' first, then .py")
    }
    def names = own.values().collect { path -> path.baseName }
    def taken = names.find { name -> takenNames.contains(name) || names.count(name) > 1 }
    if (taken) {
        error("--encoders: '${taken}' would be the name of two encoders; rename the file")
    }
    return own
}

def checkPretraining(given, code, preset, defaultModel) {
    if (given.model != defaultModel) {
        error('--model: pre-training starts from random weights; leave out --model, or --pretrain')
    }
    if (!code.loss && learnsFromLabels(preset)) {
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

// Now, since a container is to see it: docker would make it, but as root's.
def makeFolder(parameter, path) {
    def folder = file(path, glob: false)
    folder.mkdirs()
    if (!folder.isDirectory()) {
        error("--${parameter}: the folder '${path}' could not be made")
    }
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
    if (!(name ==~ /[A-Za-z0-9_][A-Za-z0-9_.-]*/)) {
        error("--model: '${name}', the name in its config.json, may hold letters, digits, '.', '_' and '-' alone, no '.' or '-' first")
    }
    return [name, folder]
}
