#!/usr/bin/env bash
# Makes inst/extdata/demo: a real run on some cells of the demonstration, and the files of it that the package's
# examples, vignettes and tests read.
#
#   airrvecr/inst/scripts/make_extdata.sh FOLDER    in the repository's root, with nextflow, Python and R on the path
set -euo pipefail

work=$(mkdir -p "$1" && cd "$1" && pwd)
root=$PWD
out=$root/airrvecr/inst/extdata/demo

# 200 barcodes of each 10x table, in the order of the table.
cp -r assets/demo/. "$work/demo"
for sample in pbmc lavage; do
    table=10x_${sample}_filtered_contig_annotations.csv.gz
    gzip -dc "assets/demo/$table" | awk -F, 'NR == 1 || ($1 in seen) || n < 200 { if (NR > 1 && !($1 in seen)) { seen[$1]; n++ } print }' |
        gzip -n > "$work/demo/$table"
done

cd "$work"
nextflow run "$root" -profile demo --input demo/samplesheet.csv --labelled demo/dash_human.csv \
    --handover false --skip_map --export_sce --outdir results
cd results

rm -rf "$out"
files=(
    summary.txt ro-crate-metadata.json
    pipeline_info/{samples.tsv,manifest.tsv,software_versions.yml,started.txt}
    cells/*.parquet chains/*.parquet receptors/receptors.parquet embeddings/sceptr.parquet
    clones/{clones.parquet,clones.tsv,clones_by_sample.tsv,counts.parquet,members.parquet}
    annotation/{pbmc,lavage,flu_?,ebv_?,cmv_1}.{parquet,tsv} annotation/reference/{calibration,sources}.tsv
    clusters/{clusters,members}.{parquet,tsv} samples/clone_sizes.tsv benchmark/auroc_summary.tsv
    r/{all_samples,labelled}.rds
)
for file in "${files[@]}"; do
    [[ -e $file ]] || { echo "no $file" >&2; continue; }
    mkdir -p "$out/$(dirname "$file")"
    cp "$file" "$out/$file"
done
du -sh "$out"
