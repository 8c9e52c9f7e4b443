"""What the report says of the map: where it is, and what it shows."""

import json
from pathlib import Path

from airrvec.report.page import safe, section

_METHODS = {"umap": "UMAP", "pca": "principal components, as they are few"}


def map_section(path: Path) -> dict:
    """The section, from the QC of ``map_receptors.py``; the link is from ``multiqc/`` to ``map/``."""
    qc = json.loads(path.read_text())
    colours = ", ".join(title[:1].lower() + title[1:] for title in qc["colours"])
    points = (
        "all are points"
        if qc["shown"] == qc["receptors"]
        else f"{qc['shown']:,} of them, a random sample, are points, and a density shows all"
    )
    text = (
        f"{qc['receptors']:,} receptors by {_METHODS[qc['method']]}; {points}. Colour by {colours};"
        " search genes, junctions and labels; point at a receptor for its own."
    )
    link = '<p><a class="btn btn-primary" href="../map/map.html" target="_blank">Open the map</a></p>'
    return section("airrvec_map", "Map of receptors", safe(text), "html", link)
