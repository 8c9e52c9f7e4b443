"""Analyses in the MultiQC report: one section each, with its figure and its result in words."""

from base64 import b64encode
from pathlib import Path

from airrvec.analyses import ANALYSES
from airrvec.core import tables
from airrvec.encoders import Titles
from airrvec.figures import analyses
from airrvec.report.page import escaped, section

import pandas as pd


def analysis_sections(folder: Path | None, titles: Titles) -> list[dict]:
    """Return a section for each analysis whose table from ``analyse_results.py`` is in ``folder``."""
    if folder is None:
        return []
    return [_section(name, folder, titles) for name in ANALYSES if (folder / f"{name}.parquet").exists()]


def _section(name: str, folder: Path, titles: Titles) -> dict:
    analysis = analyses.load(name)
    table = tables.read(folder / f"{name}.parquet")
    words = [escaped(analysis.reading(table, titles))] if len(table) else []
    not_done = _not_done(folder / f"{name}_not_done.tsv", titles)
    words += [f"Not done: {escaped(reason)}." for reason in not_done]
    if len(table):
        words.append(f"Table and figure: <code>analyses/{name}.tsv</code> and <code>.svg</code>.")
    if not len(table):
        shown = {"kind": "html", "data": "<p>No results.</p>"}
    elif hasattr(analysis, "plot"):
        shown = _escaped(analysis.plot(table, titles))
    else:
        shown = {"kind": "html", "data": _image(folder / f"{name}.png", analysis.TITLE)}
    return section(f"airrvec_analysis_{name}", analysis.TITLE, " ".join(words), **shown)


def _not_done(path: Path, titles: Titles) -> list[str]:
    """Return the reasons; a reason that concerns one encoder starts with its title."""
    if not path.exists():
        return []
    rows = tables.named_rows(pd.read_csv(path, sep="\t", keep_default_na=False))
    return [f"{titles[row.encoder]}: {row.reason}" if row.encoder else row.reason for row in rows]


def _image(path: Path, words: str) -> str:
    encoded = b64encode(path.read_bytes()).decode()
    source = f"data:image/png;base64,{encoded}"
    return f'<img class="airrvec-picture" style="max-width: 100%" alt="{escaped(words)}" src="{source}" />'


def _escaped(content):
    """Return the content with every text escaped for HTML: epitopes are user text."""
    if isinstance(content, dict):
        return {_escaped(key): _escaped(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_escaped(value) for value in content]
    return escaped(content) if isinstance(content, str) else content
