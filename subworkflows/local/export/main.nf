// Results for other tools: AIRR tables, AnnData, SingleCellExperiment.

include { DESCRIBE_CELLS  } from '../../../modules/local/describe_cells/main'
include { EXPORT_AIRR     } from '../../../modules/local/export_airr/main'
include { EXPORT_ANNDATA  } from '../../../modules/local/export_anndata/main'
include { EXPORT_SCE      } from '../../../modules/local/export_sce/main'
include { largerBatches   } from '../batches/main'
include { byName          } from '../files/main'

workflow EXPORT {
    take:
    batches    // channel: [ metas, [ cells of each ], [ chains of each ] ]
    together   // value: [ meta, cells, chains ] of every sample; none without samples
    clones     // value: clones, counts, members, samples; none without samples
    receptors  // value: receptors of the run, one file per partition
    embeddings // value: their vectors, one file per partition
    results    // map: calls, clusters → channel of files; empty without --annotate, --cluster
    settings   // map: parameters
    library    // map: script → value: digest of what it imports

    main:
    // [ names of results, cells, chains ]: one task per batch
    each = batches.map { metas, cells, chains -> [metas.collect { meta -> meta.id }, cells, chains] }
    asked = channel.empty()
    ended = channel.empty()
    missing = channel.empty()
    versions = channel.empty()
    if (settings.export_airr) {
        EXPORT_AIRR(each, library.export_airr)
        asked = asked.mix(named(each.map { names, _cells, _chains -> names }, 'tsv'))
        ended = ended.mix(named(EXPORT_AIRR.out.ended.map { _part, names -> names }, 'tsv'))
        missing = missing.mix(EXPORT_AIRR.out.missing)
        versions = versions.mix(EXPORT_AIRR.out.versions)
    }
    if (settings.export_anndata || settings.export_sce) {
        // And one task for all samples.
        larger = largerBatches(batches).map { metas, cells, chains -> [metas.collect { meta -> meta.id }, cells, chains] }
        pooled = together.map { rows -> [['all_samples'], rows.collect { row -> row[1] }, rows.collect { row -> row[2] }] }
        called = larger
            .flatMap { names, _cells, _chains -> names.collect { name -> [name, groupKey(names.join(' '), names.size())] } }
            .join(results.calls.map { file -> [file.baseName, file] }, remainder: true)
            .groupTuple(by: 1)
            .map { _names, key, files -> [key.toString(), files.findAll { file -> file }.sort { file -> file.name }] }
        alone = larger.map { names, cells, _chains -> [names.join(' '), names, cells] }
            .join(called)
            .map { _key, names, cells, files -> [names, cells, files] }
        all = pooled.map { names, cells, _chains -> [names, cells] }.combine(byName(results.calls).map { files -> [files] })
        members = results.clusters.filter { file -> file.name == 'members.parquet' }.toList()
        DESCRIBE_CELLS(
            alone.mix(all),
            clones.toList().map { tables -> tables.flatten() },
            results.calls.count().map { n -> n > 0 },
            members,
            settings.export_sce ? receptors : [],
            settings.export_sce ? embeddings : [],
            library.describe_cells,
        )
        missing = missing.mix(DESCRIBE_CELLS.out.missing)
        versions = versions.mix(DESCRIBE_CELLS.out.versions)
        complete = larger.mix(pooled)
            .join(DESCRIBE_CELLS.out.description)
            .map { names, cells, chains, files -> [described(names, files), cells, chains, files] }
        exported = larger.mix(pooled).map { names, _cells, _chains -> names }
    }
    if (settings.export_anndata) {
        EXPORT_ANNDATA(complete, receptors, embeddings, library.export_anndata)
        asked = asked.mix(named(exported, 'h5ad'))
        ended = ended.mix(named(EXPORT_ANNDATA.out.ended.map { _part, names -> names }, 'h5ad'))
        missing = missing.mix(EXPORT_ANNDATA.out.missing)
        versions = versions.mix(EXPORT_ANNDATA.out.versions)
    }
    if (settings.export_sce) {
        functions = file("${projectDir}/airrvecr/R/match_barcodes.R", glob: false)
        columns = DESCRIBE_CELLS.out.columns.flatMap { _names, files -> files instanceof List ? files : [files] }
        EXPORT_SCE(columns.map { file -> [file.name.replaceFirst(/\.columns\.bin$/, ''), file] }, functions) // one task per sample
        asked = asked.mix(named(exported, 'rds'))
        ended = ended.mix(EXPORT_SCE.out.ended)
        versions = versions.mix(EXPORT_SCE.out.versions)
    }

    emit:
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}

// The names whose cells could be described.
def described(names, files) {
    def made = [files].flatten().collect { file -> file.name }
    return names.findAll { name -> "${name}.description.parquet".toString() in made }
}

// channel: [ part, name ] of each result, from a channel of lists of names
def named(batches, ending) {
    return batches.flatMap { names -> names.collect { name -> ['export', "${name}.${ending}"] } }
}
