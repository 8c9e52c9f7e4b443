"""Map of receptors in the MultiQC report: link and description."""

import json
from pathlib import Path

from airrvec.core.terminal import counted
from airrvec.report.page import escaped, section

_METHODS = {"umap": "UMAP", "pca": "principal components (too few for UMAP)"}


def map_section(path: Path) -> dict:
    """Return the section from the QC of ``map_receptors.py``; it links from ``multiqc/`` to ``map/``."""
    qc = json.loads(path.read_text())
    colours = ", ".join(
        title[:1].lower() + title[1:] if title[1:2].islower() else title for title in qc["colours"]
    )
    points = (
        "each receptor is a point"
        if qc["shown"] == qc["receptors"]
        else f"points are a random sample of {qc['shown']:,} receptors, the density shows all"
    )
    text = (
        f"{counted(qc['receptors'], 'receptor')}, projected by {_METHODS[qc['method']]}; {points}. Colour by"
        f" {colours}; search for genes, junctions and labels; point at a receptor to see its fields."
    )
    link = '<p><a class="btn btn-primary" href="../map/map.html" target="_blank">Open the map</a></p>'
    return section("airrvec_map", "Map of receptors", escaped(text), "html", link)
