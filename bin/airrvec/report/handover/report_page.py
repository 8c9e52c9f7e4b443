"""The run's report and map in the folder that is handed over, with the links between them."""

import re
from pathlib import Path

from airrvec.core import tables

REPORT, MAP = "report.html", "map.html"
TEXTS = {
    REPORT: "The report of the run, for any browser: answers first, then all results with their limits.",
    MAP: "All receptors as points in a plane; the report links to it. Search, colours, pasted receptors.",
}
_MAP_LINK = re.compile(r'href="\.\./map/map\.html"')


def copy_report(report: Path, map_page: Path | None, folder: Path) -> None:
    """
    Copy report and map into a folder.

    Parameters
    ----------
    report : Path
        ``multiqc_report.html``, which links to the map as ``../map/map.html``.
    map_page : Path or None
        ``map.html``. Without it the report's link, if there is one, leads to the report's own section.
    folder : Path
    """
    target = MAP if map_page else "#airrvec_map"
    tables.write_text(_MAP_LINK.sub(f'href="{target}"', report.read_text("utf-8")), folder / REPORT)
    if map_page is not None:
        tables.write_text(map_page.read_text("utf-8"), folder / MAP)
