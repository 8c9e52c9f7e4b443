process CHECK_R {
    label 'process_single'
    conda "${moduleDir}/environment.yml"

    input:
    val checked // true

    output:
    val true, emit: checked

    script:
    """
    command -v Rscript > /dev/null || {
        echo 'ERROR: there is no Rscript. Install R with SingleCellExperiment, on Debian and Ubuntu with apt-get install r-bioc-singlecellexperiment, or run this process in the image of containers/r, e.g. with -profile docker.' >&2
        exit 1
    }
    export_sce.R --check
    """

    stub:
    """
    """
}
