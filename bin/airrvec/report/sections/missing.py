"""What a run could not make, and why: the first section of the report, the first lines of its summary."""

import json
from pathlib import Path

from airrvec.core.missing import PARTS
from airrvec.report.page import safe, section


def read_missing(folder: Path | None) -> list[dict[str, str]]:
    """
    Read what is missing of a run, in the order of `PARTS`; names of one part and reason are one entry.

    Parameters
    ----------
    folder : Path or None
        Every ``*.missing.json`` in it, however deep.
    """
    paths = sorted(folder.rglob("*.missing.json")) if folder else []
    names: dict[tuple[str, str], set[str]] = {}
    for entry in (entry for path in paths for entry in _read(path)):
        names.setdefault((entry["part"], entry["reason"]), set()).add(entry["name"])
    entries = [
        {"part": part, "name": ", ".join(sorted(of_reason)), "reason": reason}
        for (part, reason), of_reason in names.items()
    ]
    order = list(PARTS)
    return sorted(entries, key=lambda entry: (order.index(entry["part"]), entry["name"], entry["reason"]))


def _read(path: Path) -> list[dict[str, str]]:
    return json.loads(path.read_text())


def missing_section(missing: list[dict[str, str]]) -> dict | None:
    """A section that lists each missing part and why; None where nothing is missing."""
    if not missing:
        return None
    rows = "".join(
        f"<tr><td>{PARTS[entry['part']]}</td><td>{safe(entry['name'])}</td><td>{safe(entry['reason'])}</td></tr>"
        for entry in missing
    )
    return section(
        "airrvec_missing",
        "Missing from this run",
        f"{_counted(missing)} could not be made. Everything else in this report is without"
        f" {'it' if len(missing) == 1 else 'them'}.",
        "html",
        '<table class="table table-condensed"><thead><tr><th>Part</th><th>Name</th><th>Why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>",
    )


def missing_lines(missing: list[dict[str, str]]) -> list[str]:
    """Lines that the summary begins with; none where nothing is missing."""
    if not missing:
        return []
    return [
        f"MISSING: {_counted(missing)} could not be made",
        *(f"  {PARTS[entry['part']]} {entry['name']}: {entry['reason']}" for entry in missing),
        "",
    ]


def _counted(missing: list[dict[str, str]]) -> str:
    return "1 part" if len(missing) == 1 else f"{len(missing)} parts"
