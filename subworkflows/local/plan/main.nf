// A dry run: what each process would take, for the tables at hand and the resources of the configuration.

include { PLAN            } from '../../../modules/local/plan/main'
include { digestOf        } from '../digest/main'
include { batchesOfTables } from '../batches/main'

workflow ESTIMATE {
    take:
    tables   // channel: [ meta, table, column map or [] ], checked
    settings // map: parameters
    plan     // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null
    library  // value: script → digest of what it imports

    main:
    checked = tables.filter { meta, _table, _columns -> meta.part != 'reference' }.toList()
    exports = ['export_airr', 'export_anndata', 'export_sce'].findAll { name -> settings[name] }.collect { name -> name.toUpperCase() }
    exports += exports.any { name -> name != 'EXPORT_AIRR' } ? ['DESCRIBE_CELLS'] : []
    trained = (plan.pretrain ? ['PRETRAIN'] : []) + (plan.finetune ? ['FINETUNE'] : [])
    optional = [cluster: 'CLUSTER_RECEPTORS', compare: 'COMPARE_SAMPLES']
    others = optional.findAll { name, _process -> settings[name] }.values().toList() + (settings.skip_map ? [] : ['MAP_RECEPTORS'])
    described = settings.input ? ['DESCRIBE_SAMPLES'] : []
    processes = everyRun() + exports + trained + described + others
    own = plan.pretrain || plan.start[1] ? 1 : 0 // the run's own model is one more encoder
    common = settings.subMap(['multichain', 'max_unpacked', 'partitions', 'shard_tokens']) + [
        model: modelOf(plan),
        exports: exports,
        encoders: settings.labelled ? plan.encoders.size() + own : 0,
        trained: trained,
        others: described + others,
        resources: processes.collectEntries { name -> [name, requested(name, workflow.session.config.process)] },
    ]
    PLAN(
        checked.map { found -> found.collect { _meta, table, _columns -> table } },
        checked.map { found -> common + [normalising: batchesOfTables(found).size(), layouts: layouts(found)] },
        digestOf(library, 'plan'),
    )
    PLAN.out.text.view()
}

def everyRun() {
    def input = ['CHECK_SAMPLES', 'NORMALISE_RECEPTORS', 'COLLECT_RECEPTORS']
    return input + ['EMBED_RECEPTORS', 'MERGE_EMBEDDINGS', 'BENCHMARK_FEWSHOT', 'SUMMARISE_FEWSHOT', 'REPORT']
}

def layouts(tables) {
    return tables.collect { meta, _table, columns ->
        [format: meta.format, species: meta.species, columns: columns ? readJson(columns) : null]
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
def requested(name, config) {
    def labels = file("${projectDir}/modules/local/${name.toLowerCase()}/main.nf", glob: false).text.findAll(/label '(\w+)'/) { _line, label -> label }
    def chosen = config.findAll { _key, value -> !(value instanceof Map) }
    chosen = chosen + selected(config, 'withLabel:', labels) + selected(config, 'withName:', [name])
    def limits = config.resourceLimits ?: [:]
    def memory = [chosen.memory, limits.memory].findAll { value -> value }.collect { value -> (resolved(value).toString() as MemoryUnit).toBytes() }
    def cpus = [chosen.cpus, limits.cpus].findAll { value -> value }.collect { value -> resolved(value) as Integer }
    return [cpus: cpus.min(), memory: memory.min()]
}

// The settings of all selectors of a kind that fit one of the names; later ones win.
def selected(config, kind, names) {
    def fitting = config.findAll { key, _value -> key.startsWith(kind) && names.any { name -> name ==~ key.minus(kind) } }
    return fitting.values().inject([:]) { all, settings -> all + settings }
}

def resolved(value) {
    if (!(value instanceof Closure)) {
        return value
    }
    def closure = value.clone()
    closure.delegate = [task: [attempt: 1]]
    closure.resolveStrategy = Closure.DELEGATE_FIRST
    return closure.call()
}
