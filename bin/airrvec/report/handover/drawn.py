"""The parts of the folder that are made of figures and of the report's words."""

from collections.abc import Mapping
from pathlib import Path

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.core.version import __version__
from airrvec.figures import run as registry
from airrvec.figures.run.material import NotDrawn, Results
from airrvec.figures.style import save
from airrvec.report.handover import summary
from airrvec.report.handover.readme import CITE, ELSEWHERE, Entry, readme
from airrvec.report.handover.words import Run, plain, read_section
from airrvec.report.page import counted_in

import pyarrow as pa
import pyarrow.compute as pc

FIGURES = registry.FIGURES
FORMATS = (".svg", ".pdf")
# Of the summary; the others are in the folder of figures.
# Those of about the same height stand beside each other.
IN_SUMMARY = ("clonal_expansion", "called_cells", "diversity", "rarefaction", "overlap", "v_usage")


def write_figure(name: str, results: Results, folder: Path) -> Path:
    """Write a figure as SVG and PDF, and its numbers as TSV; return the SVG."""
    module = registry.load(name)
    table = module.table(results)
    tables.write_tsv(pa.Table.from_pandas(table, preserve_index=False), folder / f"{name}.tsv")
    save(module.draw(table), folder / name, FORMATS)
    return folder / f"{name}.svg"


def described(name: str) -> str:
    """Return what a figure shows, for the README."""
    module = registry.load(name)
    return f"{module.TITLE}: .svg, .pdf, and the drawn numbers as .tsv. {module.LEGEND}"


def write_summary(title: str, sections: Path, results: Results, svgs: Mapping[str, Path], path: Path) -> None:
    """
    Write the summary of the run.

    Parameters
    ----------
    title : str
        Of the report.
    sections : Path
        Folder with the sections that report.py wrote.
    results : Results
    svgs : mapping
        Figure → its SVG.
    path : Path
    """
    figures = [
        summary.Figure(module.TITLE, module.LEGEND, svgs[name])
        for name in IN_SUMMARY
        if name in svgs
        for module in [registry.load(name)]
    ]
    content = summary.Content(
        title=title,
        subtitle=_subtitle(results),
        answers=read_section(sections, "airrvec_brief_findings"),
        figures=figures,
        methods=read_section(sections, "airrvec_methods_text"),
        works=[[Run(CITE)], *read_section(sections, "airrvec_methods_references")],
        ending="Summary of report.html, which has all results and their limits. Works to cite: README.txt",
    )
    summary.write(content, path)


def _subtitle(results: Results) -> str:
    """Return what was counted, and by which program."""
    try:
        path = results.path("clone_counts")
    except NotDrawn:  # no samples, but a labelled table
        return f"airrvec {__version__}"
    counts = tables.read(path, ["clone_id", "n_cells", "count_unit"])
    units = pc.unique(counts["count_unit"]).to_pylist()
    words = [counted(len(results.first_counts), "sample")]
    if len(units) == 1:
        words.append(counted_in(pc.sum(counts["n_cells"]).as_py(), units[0]))
    words += [counted(pc.count_distinct(counts["clone_id"]).as_py(), "clone"), f"airrvec {__version__}"]
    return " · ".join(words)


def readme_text(
    title: str, sections: Path, results: Results, entries: Mapping[str, str], not_made: Mapping[str, str]
) -> str:
    """Return README.txt of the files that were made."""
    works = [plain(paragraph) for paragraph in read_section(sections, "airrvec_methods_references")]
    optional = ("annotation/", "clusters/", "comparison/", "benchmark/, analyses/")
    kept = [
        name
        for name in ELSEWHERE
        if name not in optional or any((results.folder / name.split("/")[0]).glob("*"))
    ]
    return readme(title, [Entry(*entry) for entry in entries.items()], not_made, works, kept)
