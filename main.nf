#!/usr/bin/env nextflow

// T-cell receptor repertoires → receptors → vectors → predictions, comparisons, report.

include { checkedParameters ; checkedTogether ; printed } from './subworkflows/local/parameters/main'
include { pathsOfRoles ; rowsOfSheet  } from './subworkflows/local/samplesheet/main'
include { tablesOfRun                 } from './subworkflows/local/samplesheet/main'
include { folderDigests ; planRun     } from './subworkflows/local/models/main'
include { codeDigests ; digestsAfter ; libraryDigests } from './subworkflows/local/digest/main'
include { CHECK                       } from './subworkflows/local/check/main'
include { ESTIMATE                    } from './subworkflows/local/plan/main'
include { NORMALISE                   } from './subworkflows/local/normalise/main'
include { LEARN                       } from './subworkflows/local/learn/main'
include { EMBED                       } from './subworkflows/local/embed/main'
include { DESCRIBE ; TABULATE         } from './subworkflows/local/describe/main'
include { BENCHMARK                   } from './subworkflows/local/benchmark/main'
include { ANALYSE                     } from './subworkflows/local/analyse/main'
include { ANNOTATE                    } from './subworkflows/local/annotate/main'
include { REPERTOIRE                  } from './subworkflows/local/repertoire/main'
include { MAP                         } from './subworkflows/local/map/main'
include { EXPORT                      } from './subworkflows/local/export/main'
include { SUMMARISE                   } from './subworkflows/local/report/main'
include { claimResults                } from './subworkflows/local/ownership/main'
include { conclude ; markStart        } from './subworkflows/local/conclude/main'

workflow {
    main:
    def schema = "${projectDir}/nextflow_schema.json"
    // settings; tables; announced and earlier results; codes, digests of scripts; marker, as old as the run;
    // tasks, their folders; parts that the report does not know to be missing; inputs
    def run = [tasks: [], unmade: [], inputs: []]
    if (!printed(params, schema)) { // --help or --version
        values = checkedParameters(params, schema)
        rows = rowsOfSheet(values)
        run.settings = checkedTogether(values + pathsOfRoles(values, rows))
        run.tables = tablesOfRun(run.settings, rows)
        plan = planRun(run.settings, schema) // map: start, pretrain, finetune, encoders, analyses, extras
        settings = run.settings + folderDigests(run.settings, plan.start)
        digests = libraryDigests(projectDir)
        run.codes = codeDigests(digests)
        claimResults(run, plan)
        CHECK(run.tables, settings, plan, digests)
        library = digestsAfter(CHECK.out.ready, digests) // map: script → value: digest of what it imports
    }
    if (run.settings?.dry_run) {
        ESTIMATE(CHECK.out.checked, CHECK.out.hla, settings, plan, library)
    }
    else if (run.settings) {
        run.marker = markStart(settings)
        CHECK.out.checked.subscribe { meta, table, _columns -> run.inputs.add([meta.id, table]) }
        NORMALISE(CHECK.out.checked, settings, library)
        samples = NORMALISE.out.samples // channel: [ meta, cells, [ receptors, one file per partition ] ]
        labelled = samples.filter { meta, _cells, _receptors -> meta.labelled }
        receptors = NORMALISE.out.receptors // value: one file per partition
        learning = digestsAfter(CHECK.out.on_device, digests) // map: the same
        LEARN(receptors, labelled, plan, settings, learning)
        model = LEARN.out.model // value: [ name, folder or [] ]
        untuned = LEARN.out.untuned // the same before fine-tuning
        EMBED(NORMALISE.out.shards, NORMALISE.out.partitions, model, settings, learning)
        embeddings = EMBED.out.embeddings // value: one file per partition

        (optional, late) = [[], []] // outputs of branches that may fail; the report waits for the first
        kinds = ['benchmark', 'analyses', 'annotation', 'calls', 'clusters', 'comparison', 'map']
        results = kinds.collectEntries { kind -> [kind, channel.empty()] } // kind → channel of files
        together = NORMALISE.out.together // value: [ meta, cells, chains ] of every sample
        DESCRIBE(samples, together, NORMALISE.out.gamma_delta, receptors, settings, library)
        clones = DESCRIBE.out.clones // value: clones, counts, members, samples
        optional << DESCRIBE.out
        results += [described: DESCRIBE.out.results, gamma_delta: DESCRIBE.out.gamma_delta]
        encoders = LEARN.out.encoders // channel: [ name, own, weights, digest ]
        if (settings.labelled) {
            BENCHMARK(labelled, encoders, LEARN.out.names, untuned, settings, library)
            optional << BENCHMARK.out
            results.benchmark = BENCHMARK.out.results
        }
        if (plan.analyses) {
            auroc = results.benchmark.filter { file -> file.name == 'auroc_summary.parquet' }.toList()
            names = LEARN.out.names
            ANALYSE(labelled, encoders, names, LEARN.out.tuned, auroc, plan.analyses, settings, library)
            optional << ANALYSE.out
            results.analyses = ANALYSE.out.results
        }
        if (settings.annotate) {
            reference = NORMALISE.out.reference
            vectors = plan.finetune ? channel.value([]) : embeddings // not of a model that learnt the labels
            ANNOTATE(samples, clones, CHECK.out.hla, reference, vectors, untuned, settings, library)
            optional << ANNOTATE.out
            results.annotation = ANNOTATE.out.results
            results.calls = ANNOTATE.out.calls
        }
        if (settings.cluster || settings.compare) {
            REPERTOIRE(samples, clones, CHECK.out.hla, receptors, embeddings, model, settings, library)
            optional << REPERTOIRE.out
            results.clusters = REPERTOIRE.out.clusters
            results.comparison = REPERTOIRE.out.comparison
        }
        if (!settings.skip_map) {
            MAP(samples, clones, receptors, embeddings, model, results, settings, library)
            optional << MAP.out
            results.map = MAP.out.made
        }
        TABULATE(clones, results, settings, library)
        optional << TABULATE.out
        results += [clusters: TABULATE.out.clusters, comparison: TABULATE.out.comparison]
        if (settings.export_airr || settings.export_anndata || settings.export_sce) {
            EXPORT(NORMALISE.out.batches, together, clones, receptors, embeddings, results, settings, library)
            late << EXPORT.out
        }
        results += [normalised: NORMALISE.out.qc, collected: NORMALISE.out.collected, embedded: EMBED.out.qc]
        results += [trained: LEARN.out.trained, measured: LEARN.out.measured, clones: TABULATE.out.tabulated]
        versions = CHECK.out.versions.mix(NORMALISE.out.versions, LEARN.out.versions, EMBED.out.versions)
        missing = CHECK.out.missing.mix(NORMALISE.out.missing)
        SUMMARISE(results, optional, late, missing, versions, settings, library)
        SUMMARISE.out.folders.subscribe { folder -> run.tasks.add(folder) }
        SUMMARISE.out.unmade.subscribe { part -> run.unmade.add(part) }
    }
    workflow.onComplete = {
        conclude(run)
    }
}
