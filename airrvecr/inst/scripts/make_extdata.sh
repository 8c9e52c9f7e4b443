#!/usr/bin/env bash
# Makes inst/extdata/demo: a real run on some cells of the demonstration, and the files of it that the package's
# examples, vignettes and tests read.
#
#   airrvecr/inst/scripts/make_extdata.sh FOLDER    in the repository's root, with nextflow, Python and R on the path
set -euo pipefail

work=$(mkdir -p "$1" && cd "$1" && pwd)
root=$PWD
out=$root/airrvecr/inst/extdata/demo

# 60 barcodes of each 10x table, in the order of the table; four of the eight donors.
cp -r assets/demo "$work/demo"
grep -Ev '^(flu_[34]|ebv_3|cmv_1),' assets/demo/samplesheet.csv > "$work/demo/samplesheet.csv"
for sample in pbmc lavage; do
    table=10x_${sample}_filtered_contig_annotations.csv.gz
    gzip -dc "assets/demo/$table" | awk -F, 'NR == 1 || ($1 in seen) || n < 60 { if (NR > 1 && !($1 in seen)) { seen[$1]; n++ } print }' |
        gzip -n > "$work/demo/$table"
done

cd "$work"
nextflow run "$root" -profile demo --input demo/samplesheet.csv --labelled demo/dash_human.csv \
    --handover false --skip_map --export_sce --outdir results
cd results

rm -rf "$out"
files=(
    pipeline_info/{samples.tsv,software_versions.yml,started.txt}
    cells/*.parquet chains/pbmc.parquet receptors/receptors.parquet embeddings/sceptr.parquet
    clones/{clones.tsv,clones_by_sample.tsv,counts.parquet,members.parquet}
    annotation/*.tsv annotation/reference/{calibration,sources}.tsv
    clusters/{clusters,members}.tsv samples/clone_sizes.tsv benchmark/auroc_summary.tsv
    r/all_samples.rds
)
for file in "${files[@]}"; do
    mkdir -p "$out/$(dirname "$file")"
    cp "$file" "$out/$file"
done
# The inputs of the manifest, and the parameters of the crate.
awk -F '\t' 'NR == 1 || $2 == "input"' pipeline_info/manifest.tsv > "$out/pipeline_info/manifest.tsv"
python3 - ro-crate-metadata.json "$out/ro-crate-metadata.json" <<'END'
import json
import sys

with open(sys.argv[1]) as crate, open(sys.argv[2], "w") as excerpt:
    graph = [entity for entity in json.load(crate)["@graph"] if entity["@type"] == "PropertyValue"]
    json.dump({"@graph": graph}, excerpt, indent=0)
END
# No folder of this machine.
sed -i "s#$work/##; s#\"$HOME/#\"~/#" "$out/pipeline_info/manifest.tsv" "$out/ro-crate-metadata.json"
du -sb "$out"
