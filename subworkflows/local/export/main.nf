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
    EXPORT_AIRR(normalised.filter { _row -> settings.export_airr.toString().toBoolean() }, library) // one task a sample

    samples = normalised.map { meta, cells, _receptors -> [meta, cells] }
    EXPORT_ANNDATA(samples.filter { _row -> settings.export_anndata.toString().toBoolean() }, receptors, embeddings, library)

    // One task a sample, and one for all samples of the samplesheet.
    all_cells = samples.filter { meta, _cells -> !meta.labelled }.map { _meta, cells -> cells }.toSortedList { a, b -> a.name <=> b.name }
    tables = samples.map { meta, cells -> [meta.id, cells] }.mix(all_cells.filter { list -> list }.map { list -> ['all_samples', list] })
    EXPORT_SCE(tables.filter { _row -> settings.export_sce.toString().toBoolean() }, receptors, embeddings)

    versions = EXPORT_AIRR.out.versions.mix(EXPORT_ANNDATA.out.versions, EXPORT_SCE.out.versions)

    emit:
    versions
}
