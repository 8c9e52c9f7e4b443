// Few-shot prediction of epitopes by all encoders, on the same splits.

include { BENCHMARK_FEWSHOT } from '../../../modules/local/benchmark_fewshot/main'
include { SUMMARISE_FEWSHOT } from '../../../modules/local/summarise_fewshot/main'

workflow BENCHMARK {
    take:
    labelled // channel: [ meta, cells, [ receptors, one file per partition ] ], at most one
    encoders // channel: [ name, own folder or file or [], folder of weights or [], digest of these ]
    names    // value: their names, joined by commas
    model    // value: [ name, folder or [] ], the model before fine-tuning
    settings // map: parameters
    library  // map: script → value: digest of what it imports

    main:
    options = settings.findAll { name, _value -> name.startsWith('benchmark_') }
    linear = settings.benchmark_rules.tokenize(',').contains('linear_svc') // the rule that needs a background
    device = [device: settings.device == 'cpu' ? 'cpu' : 'auto'] // a profile asks for no GPU for these tasks
    tasks = labelled.combine(encoders) // [ meta, cells, [ receptors ], name, own, weights, digest ]
    BENCHMARK_FEWSHOT( // one task per encoder
        tasks,
        linear && settings.background ? file(settings.background, glob: false, checkIfExists: true) : [],
        model.map { _name, folder -> trainingLabels(folder) },
        device + settings.subMap(['species', 'exclude_references', 'seed'] + (linear ? ['background_digest'] : [])) + options,
        library.benchmark_fewshot,
    )
    measured = BENCHMARK_FEWSHOT.out.results.flatten().collect(sort: { a, b -> a.name <=> b.name })
    SUMMARISE_FEWSHOT(measured, names, library.summarise_fewshot)

    results = SUMMARISE_FEWSHOT.out.results.flatten()
    asked = tasks.map { row -> ['benchmark', row[3]] }.mix(measured.map { _files -> ['benchmark', 'summary'] })
    ended = BENCHMARK_FEWSHOT.out.ended.mix(SUMMARISE_FEWSHOT.out.ended)
    missing = BENCHMARK_FEWSHOT.out.missing.mix(SUMMARISE_FEWSHOT.out.missing)
    versions = BENCHMARK_FEWSHOT.out.versions.mix(SUMMARISE_FEWSHOT.out.versions)

    emit:
    results = results // channel: file
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}

// The receptors that a model of the run was trained on: [ file ] or [].
def trainingLabels(folder) {
    return folder ? [folder.resolve('training_labels.parquet')].findAll { list -> list.exists() } : []
}
