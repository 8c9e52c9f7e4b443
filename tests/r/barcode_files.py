"""Cases of `airrvec.match_barcodes` as files for R, and what R made of them."""

import csv
from pathlib import Path

from barcode_cases import CASES

NULL = "\\N"


def write_cases(folder: Path) -> None:
    for number, (cells, samples, names) in enumerate(CASES.values()):
        rows = ["sample_id\tcell_id\trow"]
        rows += [f"{sample}\t{cell or NULL}\t{row}" for row, (sample, cell) in enumerate(cells)]
        stem = f"case_{number:02d}"
        (folder / f"{stem}.cells.tsv").write_text("\n".join(rows) + "\n")
        (folder / f"{stem}.names.txt").write_text("".join(f"{name}\n" for name in names))
        (folder / f"{stem}.samples.R").write_text(_in_r(samples) + "\n")


def _in_r(samples) -> str:
    if samples is None:
        return "NULL"
    if isinstance(samples, str):
        return f'"{samples}"'
    pairs = (f'"{label}" = "{sample}"' for label, sample in samples.items())
    return f"c({', '.join(pairs)})"


def read_results(folder: Path) -> dict[str, dict]:
    """Return title → name → row of the cell or the reason, as in `CASES`."""
    found = {}
    for number, (title, (_, _, names)) in enumerate(CASES.items()):
        with (folder / f"case_{number:02d}.out.tsv").open(newline="") as handle:
            rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
        values = [int(row["row"]) if row["match"] == "matched" else row["match_reason"] for row in rows]
        found[title] = dict(zip(names, values, strict=True))
    return found
