#!/usr/bin/env python3
"""Content of the MultiQC report, a summary for the terminal, and the versions of all software."""

import json
from pathlib import Path

from airrvec import (
    cli,
    encoders,
    report,
    report_analyses,
    report_annotation,
    report_answers,
    report_benchmark,
    report_clusters,
    report_comparison,
    report_learning,
    report_map,
    tables,
)
from airrvec.errors import exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("--normalised", type=Path, nargs="+", required=True, help="QC of each sample")
    parser.add_argument("--collected", type=Path, nargs="+", required=True, help="QC of receptors")
    parser.add_argument("--embedded", type=Path, nargs="+", required=True, help="QC of embeddings")
    parser.add_argument("--benchmark", type=Path, help="folder of summarise_fewshot.py's results")
    parser.add_argument("--analyses", type=Path, help="folder of analyse_results.py's results")
    parser.add_argument("--annotation", type=Path, help="folder of the annotation's results")
    parser.add_argument("--clusters", type=Path, help="folder of cluster_receptors.py's results")
    parser.add_argument("--comparison", type=Path, help="folder of compare_samples.py's results")
    parser.add_argument("--trained", type=Path, nargs="+", default=[], help="folders of trained models")
    parser.add_argument("--measured", type=Path, help="folder of finetune.py's tables")
    parser.add_argument("--map", type=Path, help="QC of map_receptors.py")
    parser.add_argument("--software", type=Path, nargs="+", default=[], help="versions.yml of tasks")
    parser.add_argument("--nextflow", default="unknown", help="version of Nextflow")
    cli.add_options(parser, "outdir")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    samples, collected, embedded = (
        [json.loads(path.read_text()) for path in paths]
        for paths in (args.normalised, args.collected, args.embedded)
    )
    receptors = report.of_all_partitions(collected, ("receptors", "public_receptors"))
    embeddings = report.of_all_partitions(embedded, ("receptors", "without_vector"))
    benchmark = report_benchmark.read_benchmark(args.benchmark)
    encoders.TITLES.update(benchmark.counts["titles"] if benchmark else {})
    finetuning = report_learning.read_finetuning(args.measured)
    annotation = report_annotation.read_annotation(args.annotation)
    clusters = report_clusters.read_clusters(args.clusters)
    comparison = report_comparison.read_comparison(args.comparison)
    answers = report_answers.answers_section(annotation, clusters, comparison)
    sections = [
        *([answers] if answers else []),
        *report.sample_sections(samples, receptors),
        report.embedding_section(embeddings),
        *([report_map.map_section(args.map)] if args.map else []),
        *(report_annotation.annotation_sections(annotation) if annotation else []),
        *(report_clusters.cluster_sections(clusters) if clusters else []),
        *(report_comparison.comparison_sections(comparison) if comparison else []),
        *(report_benchmark.benchmark_sections(benchmark) if benchmark else []),
        *report_analyses.analysis_sections(args.analyses),
        *(report_learning.finetuning_sections(finetuning) if finetuning else []),
        *([report_learning.curves_section(args.trained)] if args.trained else []),
    ]
    for section in sections:
        path = args.outdir / f"{section['id']}_mqc.json"
        tables.write_text(json.dumps(section, indent=1), path)
    versions = report.merged_versions([path.read_text() for path in args.software], args.nextflow)
    tables.write_text(versions, args.outdir / "airrvec_mqc_versions.yml")
    tables.write_text(versions, args.outdir / "software_versions.yml")
    summary = report.summary_text(samples, receptors, embeddings)
    if benchmark:
        summary = "\n".join([summary, *report_benchmark.auroc_lines(benchmark.summary), ""])
    if finetuning:
        summary = "\n".join([summary, *report_learning.finetuning_lines(finetuning), ""])
    if annotation:
        summary = "\n".join([summary, *report_annotation.annotation_lines(annotation), ""])
    if clusters:
        summary = "\n".join([summary, *report_clusters.cluster_lines(clusters), ""])
    if comparison:
        summary = "\n".join([summary, *report_comparison.comparison_lines(comparison), ""])
    tables.write_text(summary, args.outdir / "summary.txt")


if __name__ == "__main__":
    main()
