// Results for other tools: AIRR tables, AnnData, SingleCellExperiment.

include { DESCRIBE_CELLS } from '../../../modules/local/describe_cells/main'
include { EXPORT_AIRR    } from '../../../modules/local/export_airr/main'
include { EXPORT_ANNDATA } from '../../../modules/local/export_anndata/main'
include { EXPORT_SCE     } from '../../../modules/local/export_sce/main'
include { byName         } from '../files/main'
include { digestOf       } from '../digest/main'

workflow EXPORT {
    take:
    samples    // channel: [ meta, cells, [ receptors, one file per partition ] ]
    chains     // channel: [ meta, chains ]
    receptors  // value: receptors of the run, one file per partition
    embeddings // value: their vectors, one file per partition
    calls      // channel: calls of annotation, one file per sample; empty without --annotate
    clusters   // channel: results of clustering; empty without --cluster
    settings   // map: parameters
    library    // value: script → digest of what it imports

    main:
    parts = samples.join(chains).map { meta, cells, _receptors, file -> [meta, cells, file] }
    asked = channel.empty()
    ended = channel.empty()
    missing = channel.empty()
    versions = channel.empty()
    if (settings.export_airr) {
        EXPORT_AIRR(parts, digestOf(library, 'export_airr')) // one task per sample
        asked = asked.mix(parts.map { meta, _cells, _chains -> ['export', "${meta.id}.tsv"] })
        ended = ended.mix(EXPORT_AIRR.out.ended)
        missing = missing.mix(EXPORT_AIRR.out.missing)
        versions = versions.mix(EXPORT_AIRR.out.versions)
    }
    if (settings.export_anndata || settings.export_sce) {
        // One task per sample, and one for all of them. A sample without calls does not wait for any.
        each = parts.map { meta, cells, file -> [meta.id, cells, file] }
        together = parts.filter { meta, _cells, _chains -> !meta.labelled }
            .toSortedList { a, b -> a[1].name <=> b[1].name }
            .filter { rows -> rows }
            .map { rows -> ['all_samples', rows.collect { row -> row[1] }, rows.collect { row -> row[2] }] }
        alone = each.map { name, cells, _chains -> [name, cells] }
            .join(calls.map { file -> [file.baseName, file] }, remainder: true)
            .map { name, cells, file -> [name, cells, file ?: []] }
        all = together.map { name, cells, _chains -> [name, cells] }.combine(byName(calls).map { files -> [files] })
        members = clusters.filter { file -> file.name == 'members.parquet' }.toList()
        DESCRIBE_CELLS(
            alone.mix(all),
            members,
            settings.export_sce ? receptors : [],
            settings.export_sce ? embeddings : [],
            digestOf(library, 'describe_cells'),
        )
        described = each.mix(together).join(DESCRIBE_CELLS.out.description)
        missing = missing.mix(DESCRIBE_CELLS.out.missing)
        versions = versions.mix(DESCRIBE_CELLS.out.versions)
        names = each.mix(together).map { name, _cells, _chains -> name }
    }
    if (settings.export_anndata) {
        EXPORT_ANNDATA(described, receptors, embeddings, digestOf(library, 'export_anndata'))
        asked = asked.mix(names.map { name -> ['export', "${name}.h5ad"] })
        ended = ended.mix(EXPORT_ANNDATA.out.ended)
        missing = missing.mix(EXPORT_ANNDATA.out.missing)
        versions = versions.mix(EXPORT_ANNDATA.out.versions)
    }
    if (settings.export_sce) {
        functions = file("${projectDir}/assets/r/match_barcodes.R", glob: false)
        EXPORT_SCE(DESCRIBE_CELLS.out.columns, functions)
        asked = asked.mix(names.map { name -> ['export', "${name}.rds"] })
        ended = ended.mix(EXPORT_SCE.out.ended)
        versions = versions.mix(EXPORT_SCE.out.versions)
    }

    emit:
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
