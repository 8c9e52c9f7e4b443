"""README.txt: what each file of the folder is, how to cite, what is not in it."""

import textwrap
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import NamedTuple

from airrvec.core.terminal import printable
from airrvec.core.version import __version__

_WIDTH = 88
CITE = f"The airrvec developers. airrvec {__version__}. https://github.com/airrvec/airrvec"
# Results that stay where they are.
ELSEWHERE = {
    "cells/, chains/": "every cell and chain with its genes, junctions and metadata",
    "rejects/": "rows of the input that were not used, each with its reason",
    "samples/": "gene usage, CDR3 lengths, diversity of each sample, as tables",
    "clones/": "clones of each sample, and the clone of each cell",
    "annotation/": "the evidence for every receptor, called or not, with barcodes; the reference",
    "clusters/": "clusters and their members",
    "comparison/": "all pairs of samples, all tests",
    "benchmark/, analyses/": "measurements of encoders",
    "gamma_delta/": "γδ T cells, if the samples have any",
    "receptors/, embeddings/": "distinct receptors and their vectors",
    "airr/, anndata/, r/": "exports for other programs, if they were requested",
    "models/": "trained models, if the run trained any",
    "pipeline_info/": "versions of all software, settings, checksums of all files",
}


class Entry(NamedTuple):
    """A file of the folder, and what it is."""

    name: str
    text: str


def readme(
    title: str,
    entries: Iterable[Entry],
    not_made: Mapping[str, str],
    works: Iterable[str],
    folders: Iterable[str],
) -> str:
    """
    Return the text for the customer.

    Parameters
    ----------
    title : str
        Of the report.
    entries : iterable of Entry
        The files that were written.
    not_made : mapping
        File or figure → why there is none.
    works : iterable of str
        References of the report's methods.
    folders : iterable of str
        Keys of `ELSEWHERE` that the results have.
    """
    lines = [
        title,
        "=" * len(title),
        "",
        *_wrapped(
            f"Results of airrvec {__version__}. This folder is complete in itself: it needs neither a network"
            " nor other files. Begin with summary.pdf or report.html."
        ),
        *_chapter("Files", _table(entries)),
    ]
    if not_made:
        lines += _chapter("Not made", _table(Entry(name, reason) for name, reason in not_made.items()))
    elsewhere = _table(Entry(name, ELSEWHERE[name]) for name in folders)
    lines += _chapter(
        "Not in here",
        [
            *_wrapped(
                "The report and the sheets name files by their place in the folder of all results, from which"
                " this folder was made. Ask for it if you need:"
            ),
            "",
            *elsewhere,
        ],
    )
    numbered = [f"{number}. {work}" for number, work in enumerate([CITE, *works], start=1)]
    cited = [line for work in numbered for line in _wrapped(work, hanging=3)]
    lines += _chapter(
        "How to cite", [*_wrapped("The methods paragraph of the report cites these works:"), "", *cited]
    )
    made = ", ".join(f"{name} {version(name)}" for name in ("fpdf2", "XlsxWriter", "matplotlib"))
    lines += ["", *_wrapped(f"Files of this folder were made with {made}.")]
    return "\n".join(lines) + "\n"


def _chapter(heading: str, lines: list[str]) -> list[str]:
    return ["", "", heading, "-" * len(heading), "", *lines]


def _table(entries: Iterable[Entry]) -> list[str]:
    """Return lines of names, with their texts indented below or beside them."""
    lines = []
    for name, text in entries:
        head = f"{printable(name):<24} "
        lines += textwrap.wrap(
            printable(text), _WIDTH, initial_indent=head, subsequent_indent=" " * 25, break_long_words=False
        )
    return lines


def _wrapped(text: str, hanging: int = 0) -> list[str]:
    indent = " " * hanging
    return textwrap.wrap(
        printable(text), _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
