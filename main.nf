#!/usr/bin/env nextflow

include { checkCondition ; checkParameters ; formats ; helpText ; labelledSample ; libraryDigest ; planAnalyses ; planLearning ; readSamplesheet } from './subworkflows/local/initialise/main'
include { advice              } from './subworkflows/local/conclude/main'
include { EXPORT              } from './subworkflows/local/export/main'
include { LEARN               } from './subworkflows/local/learn/main'
include { ANALYSE             } from './subworkflows/local/analyse/main'
include { ANNOTATE            } from './subworkflows/local/annotate/main'
include { REPERTOIRE          } from './subworkflows/local/repertoire/main'
include { ESTIMATE            } from './subworkflows/local/plan/main'
include { CHECK_DEVICE        } from './modules/local/check_device/main'
include { NORMALISE_RECEPTORS } from './modules/local/normalise_receptors/main'
include { COLLECT_RECEPTORS   } from './modules/local/collect_receptors/main'
include { PREPARE_MODEL       } from './modules/local/prepare_model/main'
include { EMBED_RECEPTORS     } from './modules/local/embed_receptors/main'
include { MERGE_EMBEDDINGS    } from './modules/local/merge_embeddings/main'
include { BENCHMARK_FEWSHOT   } from './modules/local/benchmark_fewshot/main'
include { SUMMARISE_FEWSHOT   } from './modules/local/summarise_fewshot/main'
include { MAP_RECEPTORS       } from './modules/local/map_receptors/main'
include { REPORT              } from './modules/local/report/main'

workflow AIRRVEC {
    take:
    samples  // channel: [ meta, table, column map or [] ]
    settings // map: params, checked
    plan     // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null; encoders, list of [ name, own, weights ]; analyses, list of [ name, scope ]
    library  // string: digest of bin/airrvec and its locked dependencies

    main:
    NORMALISE_RECEPTORS(samples, settings.subMap(['species', 'multichain', 'max_rejected', 'partitions']), library) // one task a sample

    // A part is a range of receptor_id: '' if there is one alone, else _0000, _0001, ... Sorted, as -resume needs it.
    several = settings.partitions as Integer > 1
    parts = NORMALISE_RECEPTORS.out.receptors
        .transpose()
        .map { meta, file -> [several ? file.baseName.find(/_\d+$/) : '', meta.labelled ? [] : file, meta.labelled ? file : []] }
        .groupTuple()
        .map { part, ofSamples, ofLabelled -> [part, ofSamples.flatten().sort { file -> file.name }, ofLabelled.flatten()] }
    COLLECT_RECEPTORS(parts, settings.shard_tokens as Long, library) // one task a part
    receptors = COLLECT_RECEPTORS.out.receptors.map { _part, file -> file }.toSortedList { a, b -> a.name <=> b.name }

    normalised = NORMALISE_RECEPTORS.out.cells.join(NORMALISE_RECEPTORS.out.receptors) // [ meta, cells, [ receptors, a file a part ] ]
    labelled = normalised.filter { meta, _cells, _receptors -> meta.labelled }

    checks = settings.device == 'gpu' || (settings.device == 'auto' && workflow.profile.tokenize(',').contains('gpu'))
    CHECK_DEVICE(channel.fromList(checks ? [settings.subMap(['device', 'train_devices'])] : []), library)
    CHECK_DEVICE.out.found.subscribe { sentence -> sentence.startsWith('WARNING: ') ? log.warn(sentence.trim() - 'WARNING: ') : log.info(sentence.trim()) }
    checked = checks ? CHECK_DEVICE.out.found.map { _sentence -> library }.first() : library // training and embedding wait for the check

    LEARN(receptors, labelled, plan, settings, checked)
    shards = COLLECT_RECEPTORS.out.shards.flatMap { part, files -> files.collect { file -> [groupKey(part, files.size()), file] } }
    PREPARE_MODEL(LEARN.out.model.filter { _name, folder -> !folder }.map { name, _folder -> name }, library)
    prepared = LEARN.out.model.filter { _name, own -> own }.mix(PREPARE_MODEL.out.model).map { _name, own -> own }.first()
    EMBED_RECEPTORS(shards, prepared, settings.subMap(['device', 'precision']), checked) // one task a shard
    embedded = EMBED_RECEPTORS.out.embeddings.groupTuple().map { part, vectors -> [part.toString(), vectors.sort { file -> file.name }] }
    MERGE_EMBEDDINGS(embedded.join(COLLECT_RECEPTORS.out.receptors), LEARN.out.model.map { name, _folder -> name }, library) // one task a part
    embeddings = MERGE_EMBEDDINGS.out.embeddings.toSortedList { a, b -> a.name <=> b.name }

    EXPORT(normalised, receptors, embeddings, settings, library)

    // A fine-tuned model has seen some of the receptors that this benchmark measures.
    own = LEARN.out.untuned.filter { _name, folder -> folder }.map { name, folder -> [name, folder, []] }
    encoders = channel.fromList(plan.encoders).mix(own) // [ name, own folder or file or [], folder of weights or [] ]
    names = LEARN.out.untuned.map { name, folder -> (plan.encoders.collect { encoder -> encoder[0] } + (folder ? [name] : [])).join(',') }
    BENCHMARK_FEWSHOT( // one task an encoder, if a sample is labelled
        labelled.combine(encoders), // [ meta, cells, [ receptors ], name, own, weights ]
        settings.benchmark_background ? file(settings.benchmark_background, glob: false, checkIfExists: true) : [],
        settings.subMap(['device', 'species', 'exclude_references', 'seed'] + settings.keySet().findAll { name -> name ==~ /benchmark_(?!background).*/ }.sort()),
        library,
    )
    SUMMARISE_FEWSHOT(
        BENCHMARK_FEWSHOT.out.results.flatten().collect(sort: { a, b -> a.name <=> b.name }),
        names,
        library,
    )

    ANALYSE(
        labelled,
        encoders,
        names,
        plan.finetune
            ? LEARN.out.untuned.combine(LEARN.out.model).map { before, weights, after, tuned -> [[before, weights, []], [after, tuned, []]] }
            : channel.value([['sceptr', [], []], ['sceptr_finetuned', [], []]]),
        SUMMARISE_FEWSHOT.out.results.flatten().filter { file -> file.name == 'auroc_summary.parquet' }.toList(),
        plan.analyses,
        settings,
        library,
    )

    ANNOTATE(normalised, plan.finetune ? channel.value([]) : embeddings, LEARN.out.untuned, settings, library)
    REPERTOIRE(normalised, receptors, embeddings, LEARN.out.model, settings, library)

    MAP_RECEPTORS(
        normalised.map { _meta, cells, _receptors -> cells }.toSortedList { a, b -> a.name <=> b.name }.filter { _files -> settings.map.toString().toBoolean() },
        receptors,
        embeddings,
        ANNOTATE.out.calls.toSortedList { a, b -> a.name <=> b.name },
        REPERTOIRE.out.clusters.filter { file -> file.name == 'members.parquet' }.toList(),
        file("${projectDir}/assets/report"),
        settings.seed,
        library,
    )

    REPORT(
        NORMALISE_RECEPTORS.out.qc.map { _meta, qc -> qc }.toSortedList { a, b -> a.name <=> b.name },
        COLLECT_RECEPTORS.out.qc.toSortedList { a, b -> a.name <=> b.name },
        MERGE_EMBEDDINGS.out.qc.toSortedList { a, b -> a.name <=> b.name },
        SUMMARISE_FEWSHOT.out.results.ifEmpty([]),
        ANALYSE.out.results.toSortedList { a, b -> a.name <=> b.name },
        ANNOTATE.out.results.toSortedList { a, b -> a.name <=> b.name },
        REPERTOIRE.out.clusters.toSortedList { a, b -> a.name <=> b.name },
        REPERTOIRE.out.comparison.toSortedList { a, b -> a.name <=> b.name },
        LEARN.out.trained.toSortedList { a, b -> a.name <=> b.name },
        LEARN.out.measured.toSortedList { a, b -> a.name <=> b.name },
        MAP_RECEPTORS.out.qc.toList(),
        NORMALISE_RECEPTORS.out.versions
            .mix(COLLECT_RECEPTORS.out.versions, PREPARE_MODEL.out.versions, EMBED_RECEPTORS.out.versions, MERGE_EMBEDDINGS.out.versions)
            .mix(CHECK_DEVICE.out.versions, EXPORT.out.versions, LEARN.out.versions, BENCHMARK_FEWSHOT.out.versions, SUMMARISE_FEWSHOT.out.versions, ANALYSE.out.versions, ANNOTATE.out.versions, REPERTOIRE.out.versions, MAP_RECEPTORS.out.versions)
            .toSortedList { a, b -> a.toString() <=> b.toString() },
        file("${projectDir}/assets/multiqc_config.yml"),
        settings.report_title ?: '',
        library,
    )
}

workflow {
    main:
    def schema = "${projectDir}/nextflow_schema.json"
    if (params.help.toString().toBoolean()) {
        println(helpText(schema, workflow.manifest))
    }
    else if (params.version.toString().toBoolean()) {
        println("airrvec ${workflow.manifest.version}")
    }
    else {
        checkParameters(params, schema)
        def samples = params.input ? readSamplesheet(params.input, formats(schema), params.columns) : []
        checkCondition(params, samples)
        def labelled = params.labelled ? [labelledSample(params.labelled, params.labelled_format, params.labelled_columns)] : []
        if (params.plan.toString().toBoolean()) {
            ESTIMATE(samples + labelled, params, planLearning(params, schema), libraryDigest(projectDir))
        }
        else {
            AIRRVEC(channel.fromList(samples + labelled), params, planLearning(params, schema) + [analyses: planAnalyses(params, schema)], libraryDigest(projectDir))
        }
    }

    workflow.onComplete = {
        def summary = file("${params.outdir}/summary.txt")
        if (workflow.success && summary.exists() && ![params.help, params.version, params.plan].any { flag -> flag.toString().toBoolean() }) {
            println("\n${summary.text}\nReport: ${params.outdir}/multiqc/multiqc_report.html\n")
        }
        def todo = workflow.success ? null : advice(workflow.errorReport)
        if (todo) {
            log.error(todo)
        }
    }
}
