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
    splitting = settings.subMap(['finetune_split', 'finetune_per_epitope', 'finetune_min_receptors'])
    scopes = analyses.collectEntries()
    needs_generation = scopes.keySet().contains('generation')

    // What each analysis measures: [ analysis, encoder or '', own, weights, digest ].
    by_scope = channel.fromList(analyses).branch { _name, scope ->
        each_encoder: scope == 'each_encoder'
        before_and_after: scope == 'before_and_after'
        once: true
    }
    pairs = by_scope.each_encoder.combine(encoders)
        .mix(by_scope.before_and_after.combine(tuned.flatMap { models -> models }))
        .mix(by_scope.once.map { name, scope -> [name, scope, '', [], [], ''] })
        .map { name, _scope, encoder, own, weights, digest -> [name, encoder, own, weights, digest] }
    probabilities = channel.empty()
    asked = channel.empty()
    ended = channel.empty()
    missing = channel.empty()
    versions = channel.empty()
    if (needs_generation) {
        ANALYSE_GENERATION(labelled, options, library.analyse_generation)
        probabilities = ANALYSE_GENERATION.out.probabilities
        asked = asked.mix(labelled.map { _row -> ['analysis', 'generation.probabilities'] })
        ended = ended.mix(ANALYSE_GENERATION.out.ended)
        missing = missing.mix(ANALYSE_GENERATION.out.missing)
        versions = versions.mix(ANALYSE_GENERATION.out.versions)
    }
    ready = pairs.filter { row -> row[0] != 'generation' }.map { name, encoder, own, weights, digest -> [name, [], encoder, own, weights, digest] }
    waiting = pairs.filter { row -> row[0] == 'generation' }.combine(probabilities)
        .map { name, encoder, own, weights, digest, table -> [name, table, encoder, own, weights, digest] }
    // [ meta, cells, [ receptors ], analysis, generation or [], encoder or '', own, weights, digest ]
    analysed = labelled.combine(ready.mix(waiting))
    ANALYSE_RECEPTORS(analysed, options + splitting, library.analyse_receptors) // one task per analysis and encoder

    // Without labelled receptors an analysis has no measurements, and reports that.
    measured = ANALYSE_RECEPTORS.out.measured
        .mix(channel.fromList(analyses.collect { name, _scope -> [name, []] }))
        .groupTuple()
        .map { name, files -> [name, files.flatten().sort { file -> file.name }] }
    names = order.combine(tuned.map { models -> [models.collect { model -> model[0] }.join(',')] })
    concluded = measured.combine(names)
        .map { name, files, all, two -> [name, files, scopes[name] == 'before_and_after' ? two : all] }
    ANALYSE_RESULTS( // one task per analysis
        concluded,
        auroc,
        settings.exclude_references,
        library.analyse_results,
    )

    results = ANALYSE_RESULTS.out.results.flatten()
    asked = asked.mix(analysed.map { row -> ['analysis', "${row[3]}.${row[5] ?: 'none'}"] }, concluded.map { row -> ['analysis', row[0]] })
    ended = ended.mix(ANALYSE_RECEPTORS.out.ended, ANALYSE_RESULTS.out.ended)
    missing = missing.mix(ANALYSE_RECEPTORS.out.missing, ANALYSE_RESULTS.out.missing)
    versions = versions.mix(ANALYSE_RECEPTORS.out.versions, ANALYSE_RESULTS.out.versions)

    emit:
    results = results // channel: file
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
