#!/usr/bin/env nextflow

include { checkParameters ; helpText } from './subworkflows/local/parameters/main'
include { tablesOfRun         } from './subworkflows/local/samplesheet/main'
include { planAnalyses ; planLearning } from './subworkflows/local/models/main'
include { libraryDigest       } from './subworkflows/local/digest/main'
include { lostParts           } from './subworkflows/local/missing/main'
include { advice ; conclude ; inputPaths ; markStart } from './subworkflows/local/conclude/main'
include { CHECK               } from './subworkflows/local/check/main'
include { NORMALISE           } from './subworkflows/local/normalise/main'
include { EXPORT              } from './subworkflows/local/export/main'
include { LEARN               } from './subworkflows/local/learn/main'
include { ANALYSE             } from './subworkflows/local/analyse/main'
include { ANNOTATE            } from './subworkflows/local/annotate/main'
include { REPERTOIRE          } from './subworkflows/local/repertoire/main'
include { ESTIMATE            } from './subworkflows/local/plan/main'
include { CHECK_DEVICE        } from './modules/local/check_device/main'
include { CHECK_R             } from './modules/local/check_r/main'
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
    tables   // channel: [ meta, table, column map or [] ], checked
    unread   // channel: *.missing.json of those that are left out
    earlier  // channel: versions of the check
    passed   // value: the digest below, once all tables have been looked at
    given    // map: params, checked
    plan     // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null; encoders, list of [ name, own, weights, digest ]; analyses, list of [ name, scope ]; digests of folders
    digest   // string: of bin/airrvec and its locked dependencies

    main:
    settings = given + plan.digests
    needs_r = settings.export_sce.toString().toBoolean()
    CHECK_R(channel.fromList(needs_r ? [digest] : []))
    // The digest: no task starts before all tables, and R where it is needed, have been looked at.
    library = needs_r ? passed.combine(CHECK_R.out.checked).map { checked, _of_r -> checked }.first() : passed
    NORMALISE(tables, settings, library)
    normalised = NORMALISE.out.normalised // [ meta, cells, [ receptors, a file a partition ] ]
    labelled = normalised.filter { meta, _cells, _receptors -> meta.labelled }

    // A part is a range of receptor_id: '' if there is one alone, else _0000, _0001, ... Sorted, as -resume needs it.
    several = settings.partitions as Integer > 1
    parts = normalised.map { meta, _cells, receptors -> [meta, receptors] }
        .transpose()
        .map { meta, file -> [several ? file.baseName.find(/_\d+$/) : '', meta.labelled ? [] : file, meta.labelled ? file : []] }
        .groupTuple()
        .map { part, ofSamples, ofLabelled -> [part, ofSamples.flatten().sort { file -> file.name }, ofLabelled.flatten()] }
    COLLECT_RECEPTORS(parts, settings.shard_tokens as Long, library) // one task a part
    receptors = COLLECT_RECEPTORS.out.receptors.map { _part, file -> file }.toSortedList { a, b -> a.name <=> b.name }

    checks = settings.device == 'gpu' || (settings.device == 'auto' && workflow.profile.tokenize(',').contains('gpu'))
    CHECK_DEVICE(channel.fromList(checks ? [settings.subMap(['device', 'train_devices'])] : []), library)
    CHECK_DEVICE.out.found.subscribe { sentence -> sentence.startsWith('WARNING: ') ? log.warn(sentence.trim() - 'WARNING: ') : log.info(sentence.trim()) }
    checked = checks ? CHECK_DEVICE.out.found.map { _sentence -> digest }.first() : library // training and embedding wait for the check

    LEARN(receptors, labelled, plan, settings, checked)
    shards = COLLECT_RECEPTORS.out.shards.flatMap { part, files -> files.collect { file -> [groupKey(part, files.size()), file] } }
    PREPARE_MODEL(LEARN.out.model.filter { _name, folder -> !folder }.map { name, _folder -> name }, library)
    prepared = LEARN.out.model.filter { _name, own -> own }.mix(PREPARE_MODEL.out.model).map { _name, own -> own }.first()
    EMBED_RECEPTORS(shards, prepared, settings.subMap(['device', 'precision', 'model_digest']), checked) // one task a shard
    embedded = EMBED_RECEPTORS.out.embeddings.groupTuple().map { part, vectors -> [part.toString(), vectors.sort { file -> file.name }] }
    MERGE_EMBEDDINGS(embedded.join(COLLECT_RECEPTORS.out.receptors), LEARN.out.model.map { name, _folder -> name }, library) // one task a part
    embeddings = MERGE_EMBEDDINGS.out.embeddings.toSortedList { a, b -> a.name <=> b.name }

    EXPORT(normalised, receptors, embeddings, settings, library)

    // A fine-tuned model has seen some of the receptors that this benchmark measures.
    own = LEARN.out.untuned.filter { _name, folder -> folder }.map { name, folder -> [name, folder, [], settings.model_digest] }
    encoders = channel.fromList(plan.encoders).mix(own) // [ name, own folder or file or [], folder of weights or [], digest of these ]
    names = LEARN.out.untuned.map { name, folder -> (plan.encoders.collect { encoder -> encoder[0] } + (folder ? [name] : [])).join(',') }
    benchmarks = labelled.combine(encoders) // [ meta, cells, [ receptors ], name, own, weights, digest ]
    BENCHMARK_FEWSHOT( // one task an encoder, if a sample is labelled
        benchmarks,
        settings.benchmark_background ? file(settings.benchmark_background, glob: false, checkIfExists: true) : [],
        LEARN.out.untuned.map { _name, folder -> folder ? [folder.resolve('training_labels.parquet')].findAll { list -> list.exists() } : [] },
        settings.subMap(['device', 'species', 'exclude_references', 'seed'] + settings.keySet().findAll { name -> name ==~ /benchmark_(?!background$).*/ }.sort()),
        library,
    )
    benchmarked = BENCHMARK_FEWSHOT.out.results.flatten().collect(sort: { a, b -> a.name <=> b.name })
    SUMMARISE_FEWSHOT(
        benchmarked,
        names,
        library,
    )

    ANALYSE(
        labelled,
        encoders,
        names,
        plan.finetune
            ? LEARN.out.untuned.combine(LEARN.out.model).map { before, weights, after, tuned -> [[before, weights, [], settings.model_digest], [after, tuned, [], '']] }
            : channel.value([['sceptr', [], [], ''], ['sceptr_finetuned', [], [], '']]),
        SUMMARISE_FEWSHOT.out.results.flatten().filter { file -> file.name == 'auroc_summary.parquet' }.toList(),
        plan.analyses,
        settings,
        library,
    )

    ANNOTATE(normalised, NORMALISE.out.reference, plan.finetune ? channel.value([]) : embeddings, LEARN.out.untuned, settings, library)
    REPERTOIRE(normalised, receptors, embeddings, LEARN.out.model, settings, library)

    mapped = normalised.map { _meta, cells, _receptors -> cells }.toSortedList { a, b -> a.name <=> b.name }.filter { _files -> settings.map.toString().toBoolean() }
    MAP_RECEPTORS(
        mapped,
        receptors,
        embeddings,
        ANNOTATE.out.calls.toSortedList { a, b -> a.name <=> b.name },
        REPERTOIRE.out.clusters.filter { file -> file.name == 'members.parquet' }.toList(),
        file("${projectDir}/assets/report", glob: false).listFiles().toList().sort { page -> page.name },
        settings.seed,
        library,
    )

    // The run goes on without these parts: [ part, name ].
    asked = benchmarks.map { row -> ['benchmark', row[3]] }
        .mix(benchmarked.map { _files -> ['benchmark', 'summary'] }, mapped.map { _files -> ['map', 'all_samples'] })
        .mix(EXPORT.out.asked, ANALYSE.out.asked, ANNOTATE.out.asked, REPERTOIRE.out.asked)
    ended = BENCHMARK_FEWSHOT.out.ended
        .mix(SUMMARISE_FEWSHOT.out.ended, MAP_RECEPTORS.out.ended)
        .mix(EXPORT.out.ended, ANALYSE.out.ended, ANNOTATE.out.ended, REPERTOIRE.out.ended)
    missing = unread // *.missing.json: parts that could not be made, and why
        .mix(NORMALISE.out.missing, BENCHMARK_FEWSHOT.out.missing)
        .mix(SUMMARISE_FEWSHOT.out.missing, MAP_RECEPTORS.out.missing)
        .mix(EXPORT.out.missing, ANALYSE.out.missing, ANNOTATE.out.missing, REPERTOIRE.out.missing)
        .mix(lostParts(asked, ended))
    versions = earlier
        .mix(NORMALISE.out.versions, COLLECT_RECEPTORS.out.versions, PREPARE_MODEL.out.versions, EMBED_RECEPTORS.out.versions, MERGE_EMBEDDINGS.out.versions)
        .mix(CHECK_DEVICE.out.versions, EXPORT.out.versions, LEARN.out.versions, BENCHMARK_FEWSHOT.out.versions, SUMMARISE_FEWSHOT.out.versions, ANALYSE.out.versions, ANNOTATE.out.versions, REPERTOIRE.out.versions, MAP_RECEPTORS.out.versions)
    REPORT(
        NORMALISE.out.qc.toSortedList { a, b -> a.name <=> b.name },
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
        missing.toSortedList { a, b -> a.name <=> b.name },
        versions.toSortedList { a, b -> a.toString() <=> b.toString() },
        file("${projectDir}/assets/multiqc_config.yml", glob: false),
        settings.report_title ?: '',
        library,
    )
    tasks = versions.mix(REPORT.out.versions).map { file -> file.parent }

    emit:
    tasks // channel: folder of each task, in the work folder
}

workflow {
    main:
    def schema = "${projectDir}/nextflow_schema.json"
    def tables = []
    def plan = [:]
    def digest = ''
    def marker = null // a file as old as this run, if it makes results
    def inputs = [] // what it reads
    def tasks = [] // folders of its tasks
    if (params.help.toString().toBoolean()) {
        println(helpText(schema, workflow.manifest))
    }
    else if (params.version.toString().toBoolean()) {
        println("airrvec ${workflow.manifest.version}")
    }
    else {
        checkParameters(params, schema)
        tables = tablesOfRun(params)
        plan = planLearning(params, schema) + [analyses: planAnalyses(params, schema)]
        digest = libraryDigest(projectDir)
        CHECK(tables, params, digest)
        if (params.plan.toString().toBoolean()) {
            ESTIMATE(CHECK.out.checked, params, plan, CHECK.out.passed)
        }
        else {
            marker = markStart(params.outdir)
            inputs = inputPaths(params, tables)
            AIRRVEC(CHECK.out.checked, CHECK.out.missing, CHECK.out.versions, CHECK.out.passed, params, plan, digest)
            AIRRVEC.out.tasks.subscribe { folder -> tasks.add(folder) }
        }
    }

    workflow.onComplete = {
        def said = marker ? conclude(params.outdir, marker, tasks, inputs, workflow.success) : ''
        if (said) {
            println(said)
        }
        def todo = workflow.success ? null : advice(workflow.errorReport)
        if (todo) {
            log.error(todo)
        }
    }
}
