"""Called receptors in the MultiQC report, beside their nearest references."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.report import receptor_cells as cells
from airrvec.report.columns import meaning
from airrvec.report.page import escaped, section
from airrvec.report.units import units_title, with_units

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

N_TOP = 200  # calls in the table, of all samples
LEAST = 0.05  # evidence that raises a score by less is not shown

# Column of the calls → evidence, as the report names it.
EVIDENCE = {
    "evidence_sceptr": "SCEPTR",
    "evidence_tcrdist": "TCRdist",
    "evidence_alpha": "α chain",
    "evidence_beta": "β chain",
    "evidence_genes": "V, J genes",
}


_SHOWN = [
    *("sample_id", "receptor_id", "count_unit", "species", "chains", *schema.ANTIGEN, "probability", "fdr"),
    *(*schema.RECEPTOR_FIELDS, "innate_like", *schema.EVIDENCE),
    *(f"nearest_1_{name}" for name in schema.NEAREST),
]
_CALLED = pc.field("call") == "called"


def lowest_fdr(paths: Iterable[Path]) -> list[dict]:
    """
    Return the called receptors with the lowest FDR, at most `N_TOP` of all samples.

    Scores of different classes of chains cannot be compared; FDRs can.

    Parameters
    ----------
    paths : iterable of Path
        Calls of each sample: `airrvec.core.schema.ANNOTATION`.

    Returns
    -------
    list of dict
        `_SHOWN`, with the ``abundance`` of the receptor in the sample, by ascending FDR, then descending
        probability.
    """
    rows = [row for path in sorted(paths) for row in _lowest_of_sample(path)]
    return sorted(rows, key=_place)[:N_TOP]


def _lowest_of_sample(path: Path) -> Iterator[dict]:
    keys = ["receptor_id", "fdr", "probability", "sample_id"]
    called = tables.read_filtered(path, _CALLED, [*keys, "abundance"])
    receptors = called.group_by(keys).aggregate([("abundance", "sum")])
    lowest = sorted(receptors.to_pylist(), key=_place)[:N_TOP]
    abundance = {row["receptor_id"]: row["abundance_sum"] for row in lowest}
    wanted = _CALLED & pc.field("receptor_id").isin(pa.array([*abundance], pa.string()))
    for row in tables.read_filtered(path, wanted, _SHOWN).to_pylist():
        if row["receptor_id"] in abundance:  # of its cells the first
            yield {**row, "abundance": abundance.pop(row["receptor_id"])}


def _place(row: dict) -> tuple:
    return row["fdr"], -row["probability"], row["sample_id"], row["receptor_id"]


def calls_section(rows: list[dict], titles: dict[tuple[str, str], str]) -> dict:
    """
    Return the section of the calls with the lowest FDR.

    Parameters
    ----------
    rows : list of dict
        From `lowest_fdr`.
    titles : dict
        From `airrvec.report.page.group_titles`.
    """
    units = pd.Series([row["count_unit"] for row in rows])
    data = {
        f"{escaped(row['sample_id'])}, {number:03d}": {
            **cells.chain_cells(row),
            "epitope": cells.text_cell(row["epitope"]),
            "probability": row["probability"],
            "fdr": row["fdr"],
            "evidence": cells.text_cell(_evidence(row)),
            **cells.antigen_cells(row),
            "abundance": row["abundance"],
            **cells.nearest_cells(row),
            "chains": titles[row["species"], row["chains"]],
            "id": cells.text_cell(row["receptor_id"]),
            "nearest_id": cells.text_cell(row["nearest_1_id"]),
        }
        for number, row in enumerate(rows, start=1)
    }
    headers = {
        **cells.CHAIN_HEADERS,
        "epitope": cells.text_header("Epitope", **meaning("annotation", "epitope")),
        "probability": {
            "title": "Probability",
            "format": "{:,.2f}",
            "min": 0,
            "max": 1,
            "scale": "Blues",
            **meaning("annotation", "probability"),
        },
        "fdr": {"title": "FDR", "format": "{:,.3f}", "scale": False, **meaning("annotation", "fdr")},
        "evidence": cells.text_header(
            "Rests on",
            "By how much each evidence raises the score: nearness of the vectors (SCEPTR) and of the"
            " sequences (TCRdist) to references of the epitope, nearness of either chain alone, and V and J"
            " genes",
        ),
        **cells.ANTIGEN_HEADERS,
        "abundance": {
            "title": units_title(units),
            "format": "{:,.0f}",
            "scale": False,
            **meaning("annotation", "abundance"),
        },
        **cells.nearest_headers(),
        "chains": cells.text_header("Compared chains", **meaning("annotation", "chains")),
        "id": cells.ID_HEADER,
        "nearest_id": cells.text_header(
            "Id of the nearest reference", **meaning("annotation", "nearest_1_id")
        ),
    }
    data, headers = with_units(data, headers, units)
    return section(
        "airrvec_annotation_top",
        "Calls with the lowest false discovery rate",
        "FDR: expected share of false calls among the calls of the sample with at least this score."
        " The nearest reference is the labelled receptor with the most similar vector; compare its CDR3s with"
        " those of the receptor before you trust a call.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample, call", "sort_rows": False},
    )


def _evidence(row: dict) -> str:
    """Return the evidence of a call in words, the strongest first."""
    weights = {words: row.get(name) or 0.0 for name, words in EVIDENCE.items()}
    strongest = sorted(weights, key=weights.get, reverse=True)
    shown = [f"{words} +{weights[words]:.1f}" for words in strongest if weights[words] >= LEAST]
    return ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in shown)
