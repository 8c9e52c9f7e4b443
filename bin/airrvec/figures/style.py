"""Figures as SVG and PNG, readable in greyscale and by colour-blind people."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from airrvec.core.tables import atomic_path
from airrvec.figures.palette import COLOURS

import matplotlib.pyplot as plt

_MARKERS = "osD^vPX"  # one of each colour

# Names of shapes within an SVG are random otherwise.
matplotlib.rcParams["svg.hashsalt"] = "airrvec"
# TrueType, as programs that edit figures read it.
matplotlib.rcParams["pdf.fonttype"] = 42
_WITHOUT_DATE = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def panels(n: int, width: float, height: float, **shared):
    """Return a figure and its ``n`` axes, at most three in a row; ``width``, ``height``: inches per panel."""
    n_columns = max(1, min(3, n))
    n_rows = max(1, -(-n // n_columns))
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(width * n_columns, height * n_rows),
        squeeze=False,
        layout="constrained",
        **shared,
    )
    for axis in axes.flat[n:]:
        axis.set_visible(False)
    return figure, axes


def style(index: int) -> dict:
    """Return colour, marker and line style of the encoder at a position."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "linestyle": ("-", "--", ":", "-.")[index // len(COLOURS) % 4],
    }


def escape_mathtext(text: str) -> str:
    """Return user text with ``$`` escaped, so that matplotlib does not read it as mathematics."""
    return text.replace("$", r"\$")


def save(figure, stem: str | Path, suffixes: tuple[str, ...] = (".svg", ".png")) -> None:
    """Write a figure as ``stem``.svg and ``stem``.png, or other formats, without dates, and close it."""
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")  # done once for both files
    for suffix in suffixes:
        with atomic_path(Path(f"{stem}{suffix}")) as temporary:
            figure.savefig(
                temporary,
                format=suffix[1:],
                dpi=150,
                metadata=_WITHOUT_DATE.get(suffix),
            )
    plt.close(figure)
