#!/usr/bin/env nextflow

include { checkParameters ; formats ; helpText ; labelledSample ; libraryDigest ; planLearning ; readSamplesheet } from './subworkflows/local/initialise/main'
include { LEARN               } from './subworkflows/local/learn/main'
include { NORMALISE_RECEPTORS } from './modules/local/normalise_receptors/main'
include { COLLECT_RECEPTORS   } from './modules/local/collect_receptors/main'
include { EMBED_RECEPTORS     } from './modules/local/embed_receptors/main'
include { MERGE_EMBEDDINGS    } from './modules/local/merge_embeddings/main'
include { EXPORT_AIRR         } from './modules/local/export_airr/main'
include { BENCHMARK_FEWSHOT   } from './modules/local/benchmark_fewshot/main'
include { SUMMARISE_FEWSHOT   } from './modules/local/summarise_fewshot/main'
include { REPORT              } from './modules/local/report/main'

workflow AIRRVEC {
    take:
    samples  // channel: [ meta, table, column map or [] ]
    settings // map: params, checked
    plan     // map: start, [ name, folder or [] ]; pretrain and finetune, a preset or null
    library  // string: digest of bin/airrvec and its locked dependencies

    main:
    NORMALISE_RECEPTORS(samples, settings.subMap(['species', 'multichain', 'max_rejected']), library) // one task a sample

    receptors = NORMALISE_RECEPTORS.out.receptors.branch { meta, receptors ->
        labelled: meta.labelled
        return receptors
        sample: true
        return receptors
    }
    COLLECT_RECEPTORS(
        receptors.sample.toSortedList { a, b -> a.name <=> b.name },
        receptors.labelled.toList(),
        settings.shard_size as Long,
        library,
    )
    normalised = NORMALISE_RECEPTORS.out.cells.join(NORMALISE_RECEPTORS.out.receptors) // [ meta, cells, receptors ]
    labelled = normalised.filter { meta, _cells, _receptors -> meta.labelled }
    EXPORT_AIRR(normalised.filter { _row -> settings.export_airr.toString().toBoolean() }, library) // one task a sample

    LEARN(COLLECT_RECEPTORS.out.receptors, labelled, plan, settings, library)
    EMBED_RECEPTORS(COLLECT_RECEPTORS.out.shards.flatten(), LEARN.out.model, library) // one task a shard
    MERGE_EMBEDDINGS(
        EMBED_RECEPTORS.out.embeddings.toSortedList { a, b -> a.name <=> b.name },
        COLLECT_RECEPTORS.out.receptors,
        LEARN.out.model.map { name, _folder -> name },
        library,
    )

    // A fine-tuned model has seen some of the receptors that this benchmark measures.
    own = LEARN.out.untuned.filter { _name, folder -> folder }
    encoders = channel.fromList(settings.encoders.tokenize(',')).map { name -> [name, []] }.mix(own) // [ name, folder or [] ]
    BENCHMARK_FEWSHOT( // one task an encoder, if a sample is labelled
        labelled.combine(encoders), // [ meta, cells, receptors, name, folder or [] ]
        settings.subMap(['species', 'exclude_references', 'benchmark_k', 'benchmark_splits', 'benchmark_min_positives', 'seed']),
        library,
    )
    SUMMARISE_FEWSHOT(
        BENCHMARK_FEWSHOT.out.results.flatten().collect(sort: { a, b -> a.name <=> b.name }),
        LEARN.out.untuned.map { name, folder -> folder ? "${settings.encoders},${name}" : settings.encoders },
        library,
    )

    REPORT(
        NORMALISE_RECEPTORS.out.qc.map { _meta, qc -> qc }.toSortedList { a, b -> a.name <=> b.name },
        COLLECT_RECEPTORS.out.qc,
        MERGE_EMBEDDINGS.out.qc,
        SUMMARISE_FEWSHOT.out.results.ifEmpty([]),
        LEARN.out.trained.toSortedList { a, b -> a.name <=> b.name },
        LEARN.out.measured.toSortedList { a, b -> a.name <=> b.name },
        NORMALISE_RECEPTORS.out.versions
            .mix(COLLECT_RECEPTORS.out.versions, EMBED_RECEPTORS.out.versions, MERGE_EMBEDDINGS.out.versions)
            .mix(EXPORT_AIRR.out.versions, LEARN.out.versions, BENCHMARK_FEWSHOT.out.versions, SUMMARISE_FEWSHOT.out.versions)
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
        def labelled = params.labelled ? [labelledSample(params.labelled, params.labelled_format, params.labelled_columns)] : []
        AIRRVEC(channel.fromList(samples + labelled), params, planLearning(params, schema), libraryDigest(projectDir))
    }

    workflow.onComplete = {
        def summary = file("${params.outdir}/summary.txt")
        if (workflow.success && summary.exists() && !params.help.toString().toBoolean() && !params.version.toString().toBoolean()) {
            println("\n${summary.text}\nReport: ${params.outdir}/multiqc/multiqc_report.html\n")
        }
    }
}
