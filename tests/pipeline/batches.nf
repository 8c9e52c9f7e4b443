// Batches of the tables of each folder of a folder, sorted by name, and of them as annotated samples with the cores of each: the main.nf of a project that is otherwise this one.

include { batched         } from './subworkflows/local/annotate/main'
include { batchesOfTables } from './subworkflows/local/batches/main'

workflow {
    file("${params.tables}/*", type: 'dir').sort { folder -> folder.name }.each { folder ->
        def tables = file("${folder}/*").sort { path -> path.name }
        def rows = tables.collect { path -> [[id: path.name], path, path.name.contains('mapped') ? path : []] }
        def names = batchesOfTables(rows).collect { metas, _paths, maps -> [metas.collect { meta -> meta.id }, maps.size()] }
        println("BATCHES ${groovy.json.JsonOutput.toJson(names)}")
        def samples = batched(tables.collect { path -> [[id: path.name], path, [path]] }, [:])
        println("CORES ${groovy.json.JsonOutput.toJson(samples.collect { row -> [row[0].size(), row[2]] })}")
    }
}
