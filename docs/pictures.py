"""The pictures of a report and a map that `docs/screenshots.py` takes, and the marks on them."""

from typing import NamedTuple


class Mark(NamedTuple):
    """Numbered mark left of an element, or at a place of it (fractions of its width and height)."""

    selector: str
    words: str = ""
    place: tuple[float, float] | None = None
    gap: int = 14


class Shot(NamedTuple):
    """Picture of a page from the top of one element to the bottom of another, at most ``height`` high."""

    name: str
    first: str
    last: str
    marks: tuple[Mark, ...] = ()
    height: int = 900


def _section(name: str) -> str:
    return f"#mqc-module-section-airrvec_{name}"


def _part(name: str) -> str:
    return f"#mqc-section-wrapper-airrvec_{name}"


def _shot(element: str, *marks: Mark, height: int = 900) -> Shot:
    """Return the picture of a section or part of the report; it is named like the element."""
    name = element.split("airrvec_")[1]
    return Shot(f"report/{name}", element, element, marks, height)


def _headers(section: str, *titles: str) -> tuple[Mark, ...]:
    """Return marks on columns of a table, by their titles."""
    return tuple(Mark(f"{section} th", title, (0.12, -0.28)) for title in titles)


def _legend(section: str, *titles: str) -> tuple[Mark, ...]:
    """Return marks on the legend of a plot."""
    gaps = (56, 80) * len(titles)  # rows are closer than marks are high
    return tuple(
        Mark(f"{section} .legend text", title, gap=gap) for title, gap in zip(titles, gaps, strict=False)
    )


def _places(section: str, *places: tuple[float, float]) -> tuple[Mark, ...]:
    """Return marks at places of a plot or picture."""
    return tuple(Mark(f"{section} .js-plotly-plot, {section} img", "", place) for place in places)


def _plain(name: str, element: str, height: int = 900) -> Shot:
    """Return a picture without marks."""
    return Shot(name, element, element, (), height)


REPORT = (
    _plain("report/clones", _part("clones"), 620),
    _plain("answers", _part("brief_findings")),
    _plain("annotation", f"{_part('annotation_epitopes')} .js-plotly-plot"),
    _plain("clusters", f"{_part('clusters_logos')} img", 440),
    _plain("comparison", f"{_part('comparison_pca')} .js-plotly-plot"),
    Shot(
        "report/overview",
        "body",
        "body",
        (
            Mark(".mqc-nav a, .side-nav a", "Samples", (0.9, 0.5)),
            Mark(_part("brief_findings"), "", (-0.02, 0.1)),
            Mark("#airrvec-search", "", (1.02, 0.5)),
            Mark(".mqc-toolbox-buttons", "", (-0.3, 0.1)),
        ),
        640,
    ),
    Shot(
        "report/answers",
        _section("brief"),
        _part("brief_figure"),
        tuple(
            Mark(f"{_part('brief_findings')} li", words)
            for words in (
                "distinct receptors",
                "of two cells or more",
                "is called for",
                "hold",
                "Tests by",
                "AUROC of",
            )
        ),
    ),
    _shot(
        _part("samples"),
        *_headers(_part("samples"), "Verdict"),
        Mark(f"{_part('samples')} details summary", "usual rejects"),
        *_headers(_part("samples"), "Rows read", "Cells", "Receptors", "Kept", "Paired", "Functional"),
    ),
    _shot(
        _part("chain_pairing"), *_legend(_part("chain_pairing"), "(single pair)", "(orphan VJ)", "(extra VJ)")
    ),
    _shot(_part("rejects"), *_legend(_part("rejects"), "not productive", "extra chain")),
    _shot(_part("embeddings"), *_headers(_part("embeddings"), "Distinct", "Without", "Weights")),
    Shot(
        "report/annotation_counts",
        _part("annotation_counts"),
        _part("annotation_counts"),
        (
            Mark(f"{_part('annotation_counts')} .mqc-section-description"),
            *_headers(_part("annotation_counts"), "Called", "No call", "Expected false", "In the reference"),
        ),
    ),
    _shot(
        _part("annotation_top"),
        *_headers(_part("annotation_top"), "α chain", "Epitope", "Probability", "FDR", "Rests on"),
        height=420,
    ),
    _shot(
        _part("annotation_reliability"), *_places(_part("annotation_reliability"), (0.66, 0.24), (0.66, 0.8))
    ),
    _shot(
        _part("annotation_precision_recall"),
        *_places(_part("annotation_precision_recall"), (0.36, 0.2), (0.6, 0.83)),
    ),
    Shot(
        "report/clusters_overview",
        _section("clusters"),
        _part("clusters_overview"),
        _headers(_part("clusters_overview"), "Receptors in", "Radius", "Neighbours"),
    ),
    _shot(
        _part("clusters_largest"),
        *_headers(_part("clusters_largest"), "receptor: α", "Innate", "Labelled", "Enriched"),
        height=420,
    ),
    _shot(
        _part("clusters_logos"),
        *_places(_part("clusters_logos"), (0.04, 0.03), (0.22, 0.03), (0.3, 0.14)),
        height=480,
    ),
    _shot(_part("comparison_overlap"), height=760),
    _shot(_part("conditions_designs")),
    _shot(_part("conditions_dots"), height=620),
    _shot(
        _part("conditions_tests"),
        *_headers(_part("conditions_tests"), "Measure", "Means", "Difference", "FDR"),
        height=480,
    ),
    _shot(
        _part("conditions_told"),
        *_headers(_part("conditions_told"), "By", "Told right", "By chance"),
        height=480,
    ),
    _shot(
        _part("comparison_pca"), *_places(_part("comparison_pca"), (0.13, 0.22), (0.8, 0.27), (0.28, 0.63))
    ),
    _shot(
        _part("comparison_pairs"),
        *_headers(_part("comparison_pairs"), "Shared", "Overlap", "First near", "Distance of vectors"),
        height=480,
    ),
    Shot(
        "report/comparison_diversity",
        _part("repertoire_diversity"),
        _part("repertoire_diversity"),
        _headers(_part("repertoire_diversity"), "Cells at", "Clones at"),
    ),
    _shot(_part("auroc"), *_legend(_part("auroc"), "SCEPTR"), *_places(_part("auroc"), (0.12, 0.7))),
    _shot(
        _part("comparisons"),
        *_headers(_part("comparisons"), "Difference", "Standard error", "Better", "Holm"),
    ),
)
MAP_MARKS = (
    Mark("#colour", "", (1, 0)),
    Mark("#search", "", (1, 0)),
    Mark("#legend li", "M1", (-0.02, 0.5)),
    Mark("#map", "", (0.83, 0.6)),
)
