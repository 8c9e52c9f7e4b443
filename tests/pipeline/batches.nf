// Batches of the tables of each folder of a folder, sorted by name: the main.nf of a project that is otherwise this one.

include { batchesOfTables } from './subworkflows/local/batches/main'

workflow {
    file("${params.tables}/*", type: 'dir').sort { folder -> folder.name }.each { folder ->
        def tables = file("${folder}/*").sort { path -> path.name }
        def rows = tables.collect { path -> [[id: path.name], path, path.name.contains('mapped') ? path : []] }
        def names = batchesOfTables(rows).collect { metas, _paths, maps -> [metas.collect { meta -> meta.id }, maps.size()] }
        println("BATCHES ${groovy.json.JsonOutput.toJson(names)}")
    }
}
