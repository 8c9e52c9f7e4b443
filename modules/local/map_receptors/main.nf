process MAP_RECEPTORS {
    label 'process_low'

    input:
    path cells, stageAs: 'cells/*'
    path receptors, stageAs: 'receptors/*'
    path embeddings, stageAs: 'embeddings/*'
    path annotation, stageAs: 'annotation/*' // [] without --annotate
    path members, stageAs: 'clusters/*' // [] without --cluster
    path page // folder of map.html, map.css and map.js
    val seed
    val library

    output:
    path 'map.{parquet,html}', emit: results
    path 'map.qc.json', emit: qc
    path 'versions.yml', emit: versions

    script:
    """
    map_receptors.py --cells ${cells} --receptors receptors --embeddings embeddings \\
        ${annotation ? "--annotation ${annotation}" : ''} ${members ? "--members ${members}" : ''} --page ${page} \\
        --seed ${seed} --cpus ${task.cpus} --process ${task.process} --versions versions.yml
    """

    stub:
    """
    touch map.{parquet,html} map.qc.json versions.yml
    """
}
