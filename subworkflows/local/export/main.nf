// Results for other tools, each if it is asked for.

include { EXPORT_AIRR    } from '../../../modules/local/export_airr/main'
include { EXPORT_ANNDATA } from '../../../modules/local/export_anndata/main'
include { EXPORT_SCE     } from '../../../modules/local/export_sce/main'

workflow EXPORT {
    take:
    normalised // channel: [ meta, cells, [ receptors, a file a partition ] ]
    receptors  // value: the receptors of the run, a file a partition
    embeddings // value: their vectors, a file a partition
    settings   // map: params
    library

    main:
    as_airr = normalised.filter { _row -> settings.export_airr.toString().toBoolean() }
    EXPORT_AIRR(as_airr, library) // one task a sample

    samples = normalised.map { meta, cells, _receptors -> [meta, cells] }
    as_anndata = samples.filter { _row -> settings.export_anndata.toString().toBoolean() }
    EXPORT_ANNDATA(as_anndata, receptors, embeddings, library)

    // One task a sample, and one for all samples of the samplesheet.
    all_cells = samples.filter { meta, _cells -> !meta.labelled }.map { _meta, cells -> cells }.toSortedList { a, b -> a.name <=> b.name }
    as_sce = samples.map { meta, cells -> [meta.id, cells] }
        .mix(all_cells.filter { list -> list }.map { list -> ['all_samples', list] })
        .filter { _row -> settings.export_sce.toString().toBoolean() }
    EXPORT_SCE(as_sce, receptors, embeddings)

    asked = as_airr.map { meta, _cells, _receptors -> ['export', "${meta.id}.tsv"] }
        .mix(as_anndata.map { meta, _cells -> ['export', "${meta.id}.h5ad"] }, as_sce.map { name, _cells -> ['export', "${name}.rds"] })
    ended = EXPORT_AIRR.out.ended.mix(EXPORT_ANNDATA.out.ended, EXPORT_SCE.out.ended)
    missing = EXPORT_AIRR.out.missing.mix(EXPORT_ANNDATA.out.missing)

    versions = EXPORT_AIRR.out.versions.mix(EXPORT_ANNDATA.out.versions, EXPORT_SCE.out.versions)

    emit:
    asked // channel: [ part, name ]
    ended // channel: [ part, name ]
    missing // channel: file
    versions
}
