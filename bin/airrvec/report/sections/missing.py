"""Parts that a run could not make, and why: first section of the report, first lines of the summary."""

import json
from pathlib import Path

from airrvec.core.missing import PARTS
from airrvec.core.terminal import counted
from airrvec.report.page import escaped, section


def read_missing(folder: Path | None) -> list[dict[str, str]]:
    """
    Read the missing parts of a run, in the order of `PARTS`; entries of the same part and reason are merged.

    Parameters
    ----------
    folder : Path or None
        Searched for ``*.missing.json``, including subfolders.
    """
    paths = sorted(folder.rglob("*.missing.json")) if folder else []
    names: dict[tuple[str, str], set[str]] = {}
    for entry in (entry for path in paths for entry in _read(path)):
        names.setdefault((entry["part"], entry["reason"]), set()).add(entry["name"])
    entries = [
        {"part": part, "name": ", ".join(sorted(merged)), "reason": reason}
        for (part, reason), merged in names.items()
    ]
    order = list(PARTS)
    return sorted(entries, key=lambda entry: (order.index(entry["part"]), entry["name"], entry["reason"]))


def _read(path: Path) -> list[dict[str, str]]:
    return json.loads(path.read_text())


def missing_section(missing: list[dict[str, str]]) -> dict | None:
    """Return a section that lists each missing part and the reason; None if nothing is missing."""
    if not missing:
        return None
    rows = "".join(
        f"<tr><td>{PARTS[entry['part']]}</td><td>{escaped(entry['name'])}</td><td>{escaped(entry['reason'])}</td></tr>"
        for entry in missing
    )
    return section(
        "airrvec_missing",
        "Missing from this run",
        f"{counted(len(missing), 'part')} could not be made. All results in this report were computed without"
        f" {'it' if len(missing) == 1 else 'them'}.",
        "html",
        '<table class="table table-condensed"><thead><tr><th>Part</th><th>Name</th><th>Reason</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>",
    )


def missing_lines(missing: list[dict[str, str]]) -> list[str]:
    """Return the first lines of the summary; an empty list if nothing is missing."""
    if not missing:
        return []
    return [
        f"MISSING: {counted(len(missing), 'part')} could not be made",
        *(f"  {PARTS[entry['part']]} {entry['name']}: {entry['reason']}" for entry in missing),
        "",
    ]
