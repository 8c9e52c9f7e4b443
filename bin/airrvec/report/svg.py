"""Drawings in the text of the report: elements of SVG, axes, and a swarm of dots that do not overlap."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

LABEL = 14  # letters of a value below an axis
_TICKS = 5  # about so many steps


def tag(name: str, *children: str, **attributes) -> str:
    """
    Return an element; children are markup, attributes are escaped, numbers have one decimal.

    Underscores of attributes are hyphens, so that ``text_anchor`` is ``text-anchor``.

    Examples
    --------
    >>> tag("text", words("a < b"), x=1.26, text_anchor="end")
    '<text x="1.3" text-anchor="end">a &lt; b</text>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_number(value)}"' for key, value in attributes.items()
    )
    body = "".join(children)
    return f"<{name}{told}>{body}</{name}>" if body else f"<{name}{told}/>"


def words(text) -> str:
    """Return text for the inside of an element."""
    return escape(str(text))


def title(text: str) -> str:
    """Return what appears under the pointer, as a child of an element."""
    return tag("title", words(text))


def picture(width: float, height: float, label: str, *children: str) -> str:
    """Return a drawing in the colour of the page's text, as wide as its place; ``label`` is read aloud."""
    return tag(
        "svg",
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        fill="currentColor",
        font_size="12",
        style=f"display:block;width:100%;max-width:{width:g}px;height:auto;font-family:inherit",
    )


def box(width: float, heading: str, drawing: str, lines: Iterable[str]) -> str:
    """Return a drawing with its heading above and lines below it, all of them HTML."""
    body = "".join(f"<div>{line}</div>" for line in lines)
    return (
        f'<div style="width:{width:g}px;max-width:100%">{heading}{drawing}'
        f'<div style="font-size:85%">{body}</div></div>'
    )


def side_by_side(boxes: Iterable[str]) -> str:
    """Return boxes beside each other, as many as a line has room for."""
    return f'<div style="display:flex;flex-wrap:wrap;gap:1rem 1.5rem">{"".join(boxes)}</div>'


def line(x1: float, y1: float, x2: float, y2: float, **attributes) -> str:
    """Return a line, in the colour of the text if none is named."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": "currentColor", **attributes})


@dataclass(frozen=True)
class Axis:
    """
    Places of numbers between two ends of a drawing.

    Attributes
    ----------
    low, high : float
        Numbers at the ends; positive ones if ``log``.
    start, end : float
        Their places.
    log : bool
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, number: float) -> float:
        """Return the place of a number."""
        low, high, number = (
            (math.log(value) if self.log else value) for value in (self.low, self.high, number)
        )
        return self.start + (self.end - self.start) * (number - low) / ((high - low) or 1)

    def ticks(self) -> list[float]:
        """
        Return round numbers between the ends.

        Examples
        --------
        >>> Axis(0, 37, 0, 100).ticks()
        [0.0, 10.0, 20.0, 30.0]
        >>> Axis(0.002, 0.5, 0, 100, log=True).ticks()
        [0.01, 0.1]
        """
        if self.log:
            for factors in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
                exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
                every = [float(f"{factor}e{n}") for n in exponents for factor in factors]
                inside = [number for number in every if self._has(number)]
                if len(inside) > 1:
                    return inside
            return [self.low, self.high] if self.high > self.low else [self.low]
        step = _round_step((self.high - self.low) / _TICKS)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{number * step:.10g}") for number in range(first, last + 1)]

    def _has(self, number: float) -> bool:
        return self.low * (1 - 1e-9) <= number <= self.high * (1 + 1e-9)


def axis(
    numbers: Iterable[float], start: float, end: float, *, log: bool = False, from_zero: bool = False
) -> Axis:
    """Return an axis that holds all numbers, with some room at its ends."""
    values = [float(number) for number in numbers]
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** 0.06, 1.05)
        return Axis(low / room, high * room, start, end, log=True)
    room = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return Axis(0.0 if from_zero and low >= 0 else low - room, high + room, start, end)


def number_words(number: float) -> str:
    """
    Return a number as axes and tooltips show it.

    Examples
    --------
    >>> [number_words(number) for number in (0, 0.00123, -12.345, 15000)]
    ['0', '0.00123', '−12.3', '15,000']
    """
    return (f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}").replace("-", "−")


def swarm(places: Sequence[float], radius: float, most: float) -> list[float]:
    """
    Return sideways offsets with which dots at these places do not overlap, as far as there is room.

    Parameters
    ----------
    places : sequence of float
        Of the n dots along the axis.
    radius : float
        Of a dot.
    most : float
        Largest offset; dots that find no room get it.
    """
    offsets = [0.0] * len(places)
    placed: list[tuple[float, float]] = []
    steps = [0.0]
    for step in range(1, int(most / radius) + 1):
        steps += [step * radius, -step * radius]
    for number in sorted(range(len(places)), key=lambda number: places[number]):
        near = [(place, side) for place, side in placed if abs(place - places[number]) < 2 * radius]
        for side in steps:
            if all((side - x) ** 2 + (places[number] - y) ** 2 >= (2 * radius) ** 2 - 1e-9 for y, x in near):
                break
        else:
            side = steps[-1]
        offsets[number] = side
        placed.append((places[number], side))
    return offsets


def _number(value) -> str:
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return escape(str(value))


def _round_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not smaller than a step."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
