// A dry run: what each process would take, for the tables at hand and the resources of the configuration.

include { PLAN            } from '../../../modules/local/plan/main'
include { batchesOfTables } from '../batches/main'

workflow ESTIMATE {
    take:
    tables   // channel: [ meta, table, column map or [] ], checked
    hla      // value: map of sample → HLA of the donor; '' if unknown
    settings // map: parameters
    plan     // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null
    library  // map: script → value: digest of what it imports

    main:
    checked = tables.toList()
    exports = ['export_airr', 'export_anndata', 'export_sce'].findAll { name -> settings[name] }.collect { name -> name.toUpperCase() }
    exports += exports.any { name -> name != 'EXPORT_AIRR' } ? ['DESCRIBE_CELLS'] : []
    trained = (plan.pretrain ? ['PRETRAIN'] : []) + (plan.finetune ? ['FINETUNE'] : [])
    annotated = settings.annotate ? ['NORMALISE_REFERENCE', 'MERGE_REFERENCES', 'CALIBRATE_ANNOTATION', 'ANNOTATE_RECEPTORS'] : []
    own = plan.pretrain || plan.start[1] ? 1 : 0 // the run's own model is one more encoder
    encoders = settings.labelled ? plan.encoders.size() + own : 0
    others = otherTasks(settings, plan, encoders)
    processes = everyRun() + exports + trained + annotated + others.keySet() + ['ASSOCIATE_HLA']
    common = settings.subMap(['multichain', 'max_unpacked', 'partitions', 'shard_tokens']) + [
        model: modelOf(plan),
        exports: exports,
        encoders: encoders,
        trained: trained,
        resources: processes.collectEntries { name -> [name, requested(name, workflow.session.config.process, settings)] },
    ]
    PLAN(
        checked.map { found -> found.collect { _meta, table, _columns -> table } },
        checked.combine(hla.map { typings -> [typings.any { _name, typing -> typing }] }).map { row ->
            def found = row[0..<-1]
            def samples = withoutReferences(found)
            def typed = settings.cluster && row[-1] ? [ASSOCIATE_HLA: 1] : [:]
            def annotation = settings.annotate ? [tables: found.size() - samples.size(), background_receptors: settings.background_receptors] : null
            common + [annotation: annotation, others: others + typed, normalising: batchesOfTables(samples).size(), layouts: layouts(found)]
        },
        library.plan,
    )
    PLAN.out.text.view()
}

def withoutReferences(tables) {
    return tables.findAll { meta, _table, _columns -> meta.part != 'reference' }
}

// map: process → number of tasks, of parts whose time is not estimated
def otherTasks(settings, plan, encoders) {
    def scopes = plan.analyses.collect { _name, scope -> scope == 'each_encoder' ? encoders : scope == 'before_and_after' ? 2 : 1 }
    def parts = [
        SYNTHESISE_RECEPTORS: Math.ceil((settings.synthetic_receptors ?: 0) / 100000) as Integer,
        COUNT_CLONES: settings.input ? 1 : 0,
        DESCRIBE_CLONES: settings.input ? 1 : 0,
        DESCRIBE_SAMPLES: settings.input ? 1 : 0,
        ANALYSE_GENERATION: plan.analyses.any { name, _scope -> name == 'generation' } ? 1 : 0,
        ANALYSE_RECEPTORS: scopes.sum() ?: 0,
        ANALYSE_RESULTS: plan.analyses.size(),
        EMBED_BACKGROUND: settings.cluster || settings.compare ? 1 : 0,
        CLUSTER_RECEPTORS: settings.cluster ? 1 : 0,
        COMPARE_SAMPLES: settings.compare ? 1 : 0,
        COMPARE_CONDITIONS: settings.input && settings.compare_by ? 1 : 0,
        CHECK_DEVICE: plan.extras || settings.device == 'gpu' ? 1 : 0,
        PLACE_RECEPTORS: settings.skip_map ? 0 : 1,
        MAP_RECEPTORS: settings.skip_map ? 0 : 1,
        HANDOVER: settings.handover ? 1 : 0,
    ]
    return parts.findAll { _name, tasks -> tasks }
}

def everyRun() {
    def input = ['CHECK_SAMPLES', 'NORMALISE_RECEPTORS', 'COLLECT_RECEPTORS']
    return input + ['EMBED_RECEPTORS', 'MERGE_EMBEDDINGS', 'BENCHMARK_FEWSHOT', 'SUMMARISE_FEWSHOT', 'DESCRIBE_GAMMA_DELTA', 'REPORT', 'RENDER_REPORT']
}

def layouts(tables) {
    return tables.collect { meta, _table, columns ->
        [part: meta.part, format: meta.format, species: meta.species, columns: columns ? readJson(columns) : null]
    }
}

def readJson(path) {
    return new groovy.json.JsonSlurper().parseText(path.text.replace('\uFEFF', ''))
}

// The name of a published model, or the dimensions of another.
def modelOf(plan) {
    def config = plan.pretrain ?: plan.start[1] ? plan.start[1].resolve('config.json') : null
    return config ? readJson(config).model?.d_model ?: 64 : plan.start[0]
}

// What the configuration gives a process at its first attempt: cpus, memory in bytes.
def requested(name, config, settings) {
    def module = name == 'NORMALISE_REFERENCE' ? 'normalise_receptors' : name.toLowerCase()
    def labels = file("${projectDir}/modules/local/${module}/main.nf", glob: false).text.findAll(/label '(\w+)'/) { _line, label -> label }
    def chosen = config.findAll { _key, value -> !(value instanceof Map) }
    chosen = chosen + selected(config, 'withLabel:', labels) + selected(config, 'withName:', [name])
    def limits = config.resourceLimits ?: [:]
    def memory = [chosen.memory, limits.memory].findAll { value -> value }.collect { value -> (resolved(value, settings).toString() as MemoryUnit).toBytes() }
    def cpus = [chosen.cpus, limits.cpus].findAll { value -> value }.collect { value -> resolved(value, settings) as Integer }
    return [cpus: cpus.min(), memory: memory.min()]
}

// The settings of all selectors of a kind that fit one of the names; later ones win.
def selected(config, kind, names) {
    def fitting = config.findAll { key, _value -> key.startsWith(kind) && names.any { name -> name ==~ key.minus(kind) } }
    return fitting.values().inject([:]) { all, settings -> all + settings }
}

def resolved(value, settings) {
    if (!(value instanceof Closure)) {
        return value
    }
    def closure = value.clone()
    closure.delegate = [task: [attempt: 1], params: settings]
    closure.resolveStrategy = Closure.DELEGATE_FIRST
    return closure.call()
}
