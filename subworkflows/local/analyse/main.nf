// The paper's analyses of labelled receptors: what each measures, a task an encoder; then its table and figure.

include { ANALYSE_GENERATION } from '../../../modules/local/analyse_generation/main'
include { ANALYSE_RECEPTORS  } from '../../../modules/local/analyse_receptors/main'
include { ANALYSE_RESULTS    } from '../../../modules/local/analyse_results/main'

workflow ANALYSE {
    take:
    labelled // channel: [ meta, cells, [ receptors, a file a partition ] ], at most one
    encoders // channel: [ name, own folder or file or [], folder of weights or [], digest of these ]
    order    // value: their names, joined by commas
    tuned    // value: the models before and after fine-tuning, each as an encoder
    auroc    // value: [ the benchmark's summary ] or []
    analyses // list of [ name, scope ]
    settings // map: params
    library

    main:
    options = settings.subMap(['species', 'exclude_references', 'analysis_receptors', 'benchmark_min_positives', 'seed'])
    generated = labelled.filter { _row -> analyses.any { name, _scope -> name == 'generation' } }
    ANALYSE_GENERATION(generated, options, library)

    tasks = channel.fromList(analyses)
        .branch { _name, scope ->
            each_encoder: scope == 'each_encoder'
            before_and_after: scope == 'before_and_after'
            once: true
        } // [ analysis, scope ]
    pairs = tasks.each_encoder.combine(encoders)
        .mix(tasks.before_and_after.combine(tuned.flatMap { models -> models }), tasks.once.map { name, scope -> [name, scope, '', [], [], ''] })
        .branch { name, _scope, _encoder, _own, _weights, _digest ->
            generation: name == 'generation'
            others: true
        } // [ analysis, scope, encoder or '', own, weights, digest ]
    ready = pairs.others
        .map { name, _scope, encoder, own, weights, digest -> [name, [], encoder, own, weights, digest] }
        .mix(pairs.generation.combine(ANALYSE_GENERATION.out.probabilities).map { name, _scope, encoder, own, weights, digest, table -> [name, table, encoder, own, weights, digest] })
    analysed = labelled.combine(ready) // [ meta, cells, [ receptors ], analysis, generation or [], encoder or '', own, weights, digest ]
    ANALYSE_RECEPTORS( // one task an analysis and encoder
        analysed,
        options + settings.subMap(['finetune_split', 'finetune_per_epitope', 'finetune_min_receptors']),
        library,
    )

    // Without labelled receptors an analysis has nothing measured, and says so.
    measured = ANALYSE_RECEPTORS.out.measured
        .mix(channel.fromList(analyses.collect { name, _scope -> [name, []] }))
        .groupTuple()
        .map { name, files -> [name, files.flatten().sort { file -> file.name }] }
    names = order.combine(tuned.map { models -> [models.collect { model -> model[0] }.join(',')] })
    scopes = analyses.collectEntries()
    concluded = measured.combine(names).map { name, files, all, two -> [name, files, scopes[name] == 'before_and_after' ? two : all] }
    ANALYSE_RESULTS( // one task an analysis
        concluded,
        auroc,
        settings.exclude_references,
        library,
    )

    results = ANALYSE_RESULTS.out.results.flatten()
    versions = ANALYSE_GENERATION.out.versions.mix(ANALYSE_RECEPTORS.out.versions, ANALYSE_RESULTS.out.versions)

    asked = generated.map { _meta, _cells, _receptors -> ['analysis', 'generation.probabilities'] }
        .mix(analysed.map { row -> ['analysis', "${row[3]}.${row[5] ?: 'none'}"] }, concluded.map { name, _files, _names -> ['analysis', name] })
    ended = ANALYSE_GENERATION.out.ended.mix(ANALYSE_RECEPTORS.out.ended, ANALYSE_RESULTS.out.ended)
    missing = ANALYSE_GENERATION.out.missing.mix(ANALYSE_RECEPTORS.out.missing, ANALYSE_RESULTS.out.missing)

    emit:
    asked // channel: [ part, name ]
    ended // channel: [ part, name ]
    missing // channel: file
    results // channel: file
    versions
}
