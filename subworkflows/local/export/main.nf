// Results for other tools: AIRR tables, AnnData, SingleCellExperiment.

include { EXPORT_AIRR    } from '../../../modules/local/export_airr/main'
include { EXPORT_ANNDATA } from '../../../modules/local/export_anndata/main'
include { EXPORT_SCE     } from '../../../modules/local/export_sce/main'
include { NAME_CELLS     } from '../../../modules/local/name_cells/main'
include { byName         } from '../files/main'
include { digestOf       } from '../digest/main'

workflow EXPORT {
    take:
    samples    // channel: [ meta, cells, [ receptors, one file per partition ] ]
    receptors  // value: receptors of the run, one file per partition
    embeddings // value: their vectors, one file per partition
    settings   // map: parameters
    library    // value: script → digest of what it imports

    main:
    cells = samples.map { meta, file, _receptors -> [meta, file] }
    asked = channel.empty()
    ended = channel.empty()
    missing = channel.empty()
    versions = channel.empty()
    if (settings.export_airr) {
        EXPORT_AIRR(samples, digestOf(library, 'export_airr')) // one task per sample
        asked = asked.mix(cells.map { meta, _file -> ['export', "${meta.id}.tsv"] })
        ended = ended.mix(EXPORT_AIRR.out.ended)
        missing = missing.mix(EXPORT_AIRR.out.missing)
        versions = versions.mix(EXPORT_AIRR.out.versions)
    }
    if (settings.export_anndata) {
        EXPORT_ANNDATA(cells, receptors, embeddings, digestOf(library, 'export_anndata')) // one task per sample
        asked = asked.mix(cells.map { meta, _file -> ['export', "${meta.id}.h5ad"] })
        ended = ended.mix(EXPORT_ANNDATA.out.ended)
        missing = missing.mix(EXPORT_ANNDATA.out.missing)
        versions = versions.mix(EXPORT_ANNDATA.out.versions)
    }
    if (settings.export_sce) {
        together = byName(cells.filter { meta, _file -> !meta.labelled }.map { _meta, file -> file })
        experiments = cells.map { meta, file -> [meta.id, file] }
            .mix(together.filter { files -> files }.map { files -> ['all_samples', files] })
        NAME_CELLS(experiments, digestOf(library, 'name_cells')) // one task per sample, and one for all of them
        EXPORT_SCE(experiments.join(NAME_CELLS.out.names), receptors, embeddings) // the same
        asked = asked.mix(experiments.map { name, _files -> ['export', "${name}.rds"] })
        ended = ended.mix(EXPORT_SCE.out.ended)
        missing = missing.mix(NAME_CELLS.out.missing)
        versions = versions.mix(NAME_CELLS.out.versions, EXPORT_SCE.out.versions)
    }

    emit:
    asked = asked // channel: [ part, name ]
    ended = ended // channel: [ part, name ]
    missing = missing // channel: file
    versions = versions
}
