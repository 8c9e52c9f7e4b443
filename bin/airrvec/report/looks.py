"""Colours with dashes or markers, so that lines and points of a figure which differ also look different."""

from collections.abc import Collection, Sequence

from airrvec.figures.palette import COLOURS

DASHES = ("solid", "dot", "dashdot", "longdash", "longdashdot", "dash")
MARKERS = ("circle", "square", "diamond", "cross", "triangle-up", "star", "x")


def looks(tabs: Sequence[Collection[str]], styles: Sequence[str]) -> dict[str, tuple[str, str]]:
    """
    Return colour and style of each name, the same in all tabs; no two names of a tab have both alike.

    The first seven names of a tab differ in colour, further ones also in their style.

    Parameters
    ----------
    tabs : sequence of collections of str
        Names that are drawn together.
    styles : sequence of str
        Dashes of lines or markers of points, the usual one first.

    Raises
    ------
    ValueError
        There are fewer looks than names that are drawn together.

    Examples
    --------
    >>> looks([["a", "b"], ["c", "a"]], DASHES)
    {'a': ('#0072B2', 'solid'), 'b': ('#D55E00', 'solid'), 'c': ('#D55E00', 'solid')}
    """
    every = [(colour, style) for style in styles for colour in COLOURS]
    chosen: dict[str, tuple[str, str]] = {}
    for name in (name for names in tabs for name in names):
        if name not in chosen:
            taken = {chosen.get(other) for names in tabs if name in names for other in names}
            free = [look for look in every if look not in taken]
            if not free:
                raise ValueError(f"{len(every)} looks are too few for the lines or points of a figure")
            chosen[name] = free[0]
    return chosen


def broken_words(chosen: dict[str, tuple[str, str]], usual: str, words: str) -> str:
    """Return a sentence, with a blank before, if some of the looks have another style than the usual one."""
    return f" {words}" if any(style != usual for _, style in chosen.values()) else ""
