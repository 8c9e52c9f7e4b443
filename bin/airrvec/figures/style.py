"""Figures as SVG and PNG, readable in grey and by the colour-blind."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from airrvec.core.tables import written

# Okabe and Ito's colours, and a marker and a dash with each.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"


def panels(n: int, width: float, height: float, **shared):
    """A figure and its ``n`` axes, at most three beside each other; the size of one in inches."""
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
    """Colour and marker of the encoder at a position."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "linestyle": ("-", "--", ":", "-.")[index // len(COLOURS) % 4],
    }


def plain(text: str) -> str:
    """Text of the user's that matplotlib must not read as mathematics."""
    return text.replace("$", r"\$")


def save(figure, stem: str | Path) -> None:
    """Write a figure as ``stem``.svg and ``stem``.png, and close it."""
    for suffix in (".svg", ".png"):
        with written(Path(f"{stem}{suffix}")) as temporary:
            figure.savefig(
                temporary,
                format=suffix[1:],
                dpi=150,
                metadata={"Date": None} if suffix == ".svg" else None,
            )
    plt.close(figure)
