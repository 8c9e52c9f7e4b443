"""Public receptors, those of several samples, in the MultiQC report."""

import pandas as pd

from airrvec.core.plural import counted
from airrvec.report import receptor_cells as cells
from airrvec.report.page import COUNT, section

N_TOP = 50  # receptors in the table
N_NAMES = 5  # samples of a receptor that are listed; more are counted


def public_section(public: pd.DataFrame) -> dict:
    """Return the receptors that most samples carry; ``public`` is `airrvec.core.schema.PUBLIC_RECEPTORS`."""
    shown = public.head(N_TOP)
    digits = len(str(len(shown)))
    data = {
        f"{number:0{digits}d}": {
            **cells.chain_cells(row),
            "n_samples": row["n_samples"],
            "n_cells": row["n_cells"],
            "samples": cells.text_cell(_names(row["samples"])),
            "id": cells.text_cell(row["receptor_id"]),
        }
        for number, row in enumerate(shown.to_dict("records"), start=1)
    }
    headers = {
        **cells.CHAIN_HEADERS,
        "n_samples": {"title": "Number of samples", **COUNT},
        "n_cells": {"title": "Cells", **COUNT},
        "samples": cells.text_header("Samples"),
        "id": cells.ID_HEADER,
    }
    return section(
        "airrvec_comparison_public",
        "Public receptors",
        "Receptors that two or more samples carry, those of most samples first; alleles are ignored."
        f" {len(shown)} of {counted(len(public), 'public receptor')}; all are in"
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
