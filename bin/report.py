#!/usr/bin/env python3
"""Write the sections of the report, the summary for the terminal, and the versions of all software."""

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from airrvec.core import script, tables
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.terminal import print_warning, printable
from airrvec.encoders import Titles
from airrvec.report import chapters, multiqc, page
from airrvec.report.sections import (
    analyses,
    annotation,
    benchmark,
    brief,
    clusters,
    comparison,
    conditions,
    differences,
    dots,
    finetuning,
    gamma_delta,
    hla,
    learning,
    map,
    methods,
    pathogens,
    quality,
    shared_clones,
)
from airrvec.report.sections import missing as report_missing
from airrvec.report.sections import samples as report_samples
from airrvec.report.summary import summary_text


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--normalised", type=Path, nargs="+", required=True, help="QC of each sample")
    # A run of γδ cells alone has neither.
    parser.add_argument("--collected", type=Path, nargs="*", default=[], help="QC of receptors")
    parser.add_argument("--embedded", type=Path, nargs="*", default=[], help="QC of embeddings")
    parser.add_argument("--described", type=Path, help="folder with the results of describe_samples.py")
    parser.add_argument(
        "--clones", type=Path, help="folder with clones, by describe_clones.py, and their counts"
    )
    parser.add_argument("--gamma-delta", type=Path, help="folder with the results of describe_gamma_delta.py")
    parser.add_argument("--benchmark", type=Path, help="folder with the results of summarise_fewshot.py")
    parser.add_argument("--analyses", type=Path, help="folder with the results of analyse_results.py")
    parser.add_argument("--annotation", type=Path, help="folder with the results of annotation")
    parser.add_argument("--calls", type=Path, help="folder with the tables of annotate_receptors.py")
    parser.add_argument("--clusters", type=Path, help="folder with the results of cluster_receptors.py")
    parser.add_argument("--comparison", type=Path, help="folder with the results of compare_samples.py")
    parser.add_argument("--trained", type=Path, nargs="+", default=[], help="folders of trained models")
    parser.add_argument("--measured", type=Path, help="folder with the tables of finetune.py")
    parser.add_argument("--map", type=Path, help="QC of map_receptors.py")
    parser.add_argument("--missing", type=Path, help="folder with *.missing.json: missing parts")
    parser.add_argument("--software", type=Path, nargs="+", default=[], help="versions.yml of each task")
    parser.add_argument("--nextflow", default="unknown", help="version of Nextflow")
    parser.add_argument(
        "--handover", action="store_true", help="the run goes on with a folder to hand over: name it"
    )
    script.add_options(parser, "outdir")
    return parser.parse_args(argv)


class Part(NamedTuple):
    """Part of the report: functions that return its results, its sections, and its lines in the summary."""

    read: Callable  # options → results, or None
    sections: Callable
    lines: Callable = lambda *results: []
    names_encoders: bool = False  # sections and lines also take the titles of encoders


PARTS = {
    "samples": Part(
        lambda args: report_samples.read_described(args.described, args.clones, args.clusters),
        report_samples.described_sections,
        report_samples.described_lines,
    ),
    "gamma_delta": Part(
        lambda args: gamma_delta.read_gamma_delta(args.gamma_delta, args.comparison),
        gamma_delta.gamma_delta_sections,
        gamma_delta.gamma_delta_lines,
    ),
    "map": Part(lambda args: args.map, lambda path: [map.map_section(path)]),
    "annotation": Part(
        lambda args: annotation.read_annotation(args.annotation, args.calls),
        annotation.annotation_sections,
        annotation.annotation_lines,
    ),
    "clusters": Part(
        lambda args: clusters.read_clusters(args.clusters),
        clusters.cluster_sections,
        clusters.cluster_lines,
    ),
    "hla": Part(
        lambda args: hla.read_associations(args.clusters),
        hla.association_sections,
        hla.association_lines,
    ),
    "comparison": Part(
        lambda args: comparison.read_comparison(args.comparison),
        comparison.comparison_sections,
        comparison.comparison_lines,
    ),
    "conditions": Part(
        lambda args: conditions.read_conditions(args.comparison, args.clusters),
        conditions.condition_sections,
        conditions.condition_lines,
    ),
    "shared clones": Part(
        lambda args: shared_clones.read_shared(args.clones, args.comparison), shared_clones.shared_sections
    ),
    "benchmark": Part(
        lambda args: benchmark.read_benchmark(args.benchmark),
        benchmark.benchmark_sections,
        benchmark.benchmark_lines,
        names_encoders=True,
    ),
    "analyses": Part(lambda args: args.analyses, analyses.analysis_sections, names_encoders=True),
    "fine-tuning": Part(
        lambda args: finetuning.read_finetuning(args.measured),
        finetuning.finetuning_sections,
        finetuning.finetuning_lines,
        names_encoders=True,
    ),
    "training": Part(lambda args: args.trained, lambda folders: [learning.curves_section(folders)]),
}
HANDOVER = "\nTo hand over: handover/, made after the report; its README.txt says what each file is\n"
SUMMARISED = (
    "samples",
    "gamma_delta",
    "benchmark",
    "fine-tuning",
    "annotation",
    "clusters",
    "hla",
    "comparison",
    "conditions",
)


@contextmanager
def _without(name: str, missing: list[dict[str, str]]) -> Iterator[None]:
    """Continue the report without a part that fails for any reason, and add the part to ``missing``."""
    try:
        yield
    except Exception as problem:
        print_warning(*traceback.format_exc().splitlines())
        reason = str(problem) if isinstance(problem, InputError) else f"{type(problem).__name__}: {problem}"
        missing.append({"part": "report", "name": name, "reason": reason})


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    samples, collected, embedded = (
        [json.loads(path.read_text()) for path in paths]
        for paths in (args.normalised, args.collected, args.embedded)
    )
    numbers = ("receptors", "clonotypes", "public_clonotypes")
    receptors = page.merge_partitions(collected or [dict.fromkeys((*numbers, "samples"), 0)], numbers)
    embeddings = page.merge_partitions(embedded, ("receptors", "without_vector")) if embedded else {}
    missing = report_missing.read_missing(args.missing)
    loaded, shown, lines = {}, {}, {}
    for name, part in PARTS.items():
        with _without(name, missing):
            loaded[name] = part.read(args)
    titles = Titles(loaded["benchmark"].counts["titles"] if loaded.get("benchmark") else {})
    for name, part in PARTS.items():
        with _without(name, missing):
            if loaded.get(name):
                arguments = (loaded[name], titles) if part.names_encoders else (loaded[name],)
                shown[name] = part.sections(*arguments)
                lines[name] = part.lines(*arguments)
    versions = page.merged_versions([path.read_text() for path in args.software], args.nextflow)
    results = {name: loaded.get(name) if name in shown else None for name in PARTS}
    unavailable = {entry["name"] if entry["part"] == "report" else entry["part"] for entry in missing}
    sections = [
        *quality.sample_sections(samples, receptors),
        *([page.embedding_section(embeddings, titles)] if embeddings else []),
        *(section for name in PARTS for section in shown.get(name, [])),
    ]
    made = {
        "pathogens": lambda: results["annotation"] and pathogens.pathogens_section(results["annotation"]),
        "differences": lambda: differences.differences_section(results["conditions"], results["comparison"]),
        "dots": lambda: results["conditions"] and dots.dots_section(results["conditions"]),
        "methods": lambda: methods.methods_sections(
            samples, embeddings, results, titles, versions, args.nextflow
        ),
        "figure": lambda: brief.brief_figure(sections, results["annotation"]),
        # Last, because it also names what fails above.
        "brief": lambda: brief.brief_section(
            samples, receptors, results, titles, missing=missing, unavailable=unavailable
        ),
        "missing": lambda: report_missing.missing_section(missing),
    }
    for name, make in made.items():
        with _without(name, missing):
            made_sections = make() or []
            sections += made_sections if isinstance(made_sections, list) else [made_sections]
    for section in chapters.placed(sections):
        tables.write_json(section, args.outdir / f"{section['id']}_mqc.json", indent=1)
    tables.write_text(page.style(), args.outdir / multiqc.STYLE)
    tables.write_text(versions, args.outdir / "software_versions.yml")
    summary = summary_text(samples, receptors, embeddings, titles)
    for name in SUMMARISED:
        if name in lines:
            summary = "\n".join([summary, *(printable(line) for line in lines[name]), ""])
    unmade = [printable(line) for line in report_missing.missing_lines(missing)]
    tables.write_text("\n".join([*unmade, summary]) + HANDOVER * args.handover, args.outdir / "summary.txt")


if __name__ == "__main__":
    main()
