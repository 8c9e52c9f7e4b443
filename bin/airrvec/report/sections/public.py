"""Public receptors, those of several samples, in the MultiQC report."""

from pathlib import Path

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.report import receptor_cells as cells
from airrvec.report.columns import meaning
from airrvec.report.page import COUNT, section
from airrvec.report.units import units_title, with_units

import pandas as pd

N_TOP = 50  # receptors in the table
N_NAMES = 5  # samples of a receptor that are listed; more are counted


def read_public(path: Path) -> tuple[pd.DataFrame, int]:
    """Return the first `N_TOP` of `airrvec.core.schema.PUBLIC_RECEPTORS`, and the number of all."""
    return next(tables.read_batches(path, N_TOP)).to_pandas(), tables.n_rows(path)


def public_section(shown: pd.DataFrame, n: int) -> dict:
    """Return the receptors that most samples carry, of ``n`` public ones."""
    digits = len(str(len(shown)))
    data = {
        f"{number:0{digits}d}": {
            **cells.chain_cells(row),
            "n_samples": row["n_samples"],
            "n_cells": row["n_cells"] if pd.notna(row["n_cells"]) else None,
            "samples": cells.text_cell(_names(row["samples"])),
            "id": cells.text_cell(row["receptor_id"]),
        }
        for number, row in enumerate(shown.to_dict("records"), start=1)
    }
    headers = {
        **cells.CHAIN_HEADERS,
        "n_samples": {"title": "Number of samples", **COUNT, **meaning("public", "n_samples")},
        "n_cells": {
            "title": units_title(shown["count_unit"].dropna()),
            **COUNT,
            **meaning("public", "n_cells"),
        },
        "samples": cells.text_header("Samples", **meaning("public", "samples")),
        "id": cells.ID_HEADER,
    }
    data, headers = with_units(data, headers, shown["count_unit"])
    return section(
        "airrvec_comparison_public",
        "Public receptors",
        "Receptors that two or more samples carry, those of most samples first; alleles are ignored."
        f" {len(shown)} of {counted(n, 'public receptor')}; all are in"
        " <code>comparison/public.tsv</code>. Samples of one donor share receptors for another reason, and so"
        " do samples that were mixed up or contaminated.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Receptor", "sort_rows": False},
    )


def _names(samples: str) -> str:
    """Return the names of the samples, or of the first and the number of the others."""
    names = samples.split(";")
    more = [f"{len(names) - N_NAMES} more"] if len(names) > N_NAMES else []
    return "; ".join([*names[:N_NAMES], *more])
