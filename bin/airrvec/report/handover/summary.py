"""The run on one or two pages of A4, as PDF: the report's words, its most important figures, its methods."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from airrvec.core.tables import atomic_path
from airrvec.report.handover.words import Paragraph, plain

from fpdf import FPDF
from fpdf.enums import XPos, YPos
from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font

PAGES = 2
_FONT = "DejaVu"  # matplotlib's own: Greek letters, and the look of the figures
_FACES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # two runs write the same bytes
_MARGIN, _GAP = 16, 5  # mm
_INK, _GREY, _BLUE = (38, 38, 38), (110, 110, 110), (0, 82, 130)
_SIZES = (9.5, 9, 8.5, 8, 7.5)  # points of the text, the first by which all fits
_TALLEST = 88  # mm, of a figure
_BOX = "□"
_METADATA = re.compile(rb"<metadata>.*?</metadata>", re.DOTALL)


class Figure(NamedTuple):
    """A figure of the summary: title, what is drawn, its SVG."""

    title: str
    legend: str
    svg: Path


class Content(NamedTuple):
    """
    What the summary says.

    Attributes
    ----------
    title, subtitle : str
    answers : list of Paragraph
        Of the report's "In brief".
    figures : list of Figure
        Most important first; those that do not fit are left out.
    methods : list of Paragraph
    works : list of Paragraph
        Works to cite; they are left out if they do not fit.
    ending : str
        Last line.
    """

    title: str
    subtitle: str
    answers: list[Paragraph]
    figures: list[Figure]
    methods: list[Paragraph]
    works: list[Paragraph]
    ending: str


def write(content: Content, path: Path) -> list[Figure]:
    """
    Write the summary; return the figures that fit.

    The words come in the largest size by which they and two figures fit; if none does, in the smallest, on as
    many pages as they take.
    """
    for size in _SIZES:
        document = _Summary(content, size)
        shown = document.make()
        if document.page <= PAGES and len(shown) >= min(2, len(content.figures)):
            break
    with atomic_path(path) as temporary:
        document.output(str(temporary))
    return shown


class _Summary(FPDF):
    def __init__(self, content: Content, size: float):
        super().__init__(format="A4")
        self.content, self.size = content, size
        paths = {style: Path(get_data_path()) / "fonts/ttf" / file for style, file in _FACES.items()}
        for style, path in paths.items():
            self.add_font(_FONT, style, path)
        self.signs = set.intersection(*(set(FT2Font(str(path)).get_charmap()) for path in paths.values()))
        self.set_margin(_MARGIN)
        self.set_auto_page_break(True, margin=_MARGIN)
        self.set_creation_date(_EPOCH)
        self.set_title(content.title)
        self.set_creator("airrvec")
        self.set_lang("en")

    def normalize_text(self, text: str) -> str:
        """Return a text for the page; a sign that the font lacks is a box, not nothing."""
        shown = "".join(sign if ord(sign) in self.signs or sign.isspace() else _BOX for sign in text)
        return super().normalize_text(shown)

    def make(self) -> list[Figure]:
        """Write all pages; return the figures that fit."""
        self.add_page()
        self._head()
        for paragraph in self.content.answers:
            self._item(paragraph)
        self.ln(1.5)
        shown = self._figures()
        if self.content.methods:
            self._heading("Methods")
            for paragraph in self.content.methods:
                self._runs(paragraph, self.size - 1.5)
                self.ln(1)
        self._works()
        return shown

    def _works(self) -> None:
        """Write the works to cite, if there is room on the page."""
        size, texts = 6.4, [plain(work) for work in self.content.works]
        self._style(size)
        n_lines = sum(len(self._lines(text, self.epw - 6)) for text in texts)
        height = 3.1 * n_lines + 0.3 * len(texts) + 10
        if not texts or self.get_y() + height > self.page_break_trigger:
            return
        self._heading("Works to cite")
        for number, text in enumerate(texts, start=1):
            self._style(size, colour=_GREY)
            self.cell(6, 3.1, f"{number}.")
            with self._indented(6):
                self.multi_cell(0, 3.1, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT, align="L")
            self.ln(0.3)

    def footer(self):
        """End each page with what this is, and the number of the page."""
        self.set_y(-_MARGIN + 4)
        self._style(7, colour=_GREY)
        self.cell(0, 4, self.content.ending)
        self.set_y(-_MARGIN + 4)
        self.cell(0, 4, str(self.page_no()), align="R")

    def _style(self, size: float, style: str = "", colour: tuple[int, int, int] = _INK) -> None:
        self.set_font(_FONT, style, size)
        self.set_text_color(*colour)

    def _head(self) -> None:
        self._style(16, "B", _BLUE)
        self.multi_cell(0, 7.5, self.content.title, new_x=XPos.LMARGIN, new_y=YPos.NEXT, align="L")
        self._style(8.5, colour=_GREY)
        self.multi_cell(0, 4.5, self.content.subtitle, new_x=XPos.LMARGIN, new_y=YPos.NEXT, align="L")
        self.ln(1.5)
        self.set_draw_color(*_BLUE)
        self.set_line_width(0.4)
        self.line(_MARGIN, self.get_y(), self.w - _MARGIN, self.get_y())
        self.ln(1)
        self._heading("In brief")

    def _heading(self, words: str) -> None:
        if self.get_y() + 20 > self.page_break_trigger:
            self.add_page()
        self.ln(1.5)
        self._style(11, "B", _BLUE)
        self.cell(0, 6, words, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(0.5)

    def _item(self, paragraph: Paragraph) -> None:
        """Write a paragraph of a list, with a bullet."""
        self._style(self.size, "B", _BLUE)
        self.cell(4, 0.5 * self.size, "•")
        with self._indented(4):
            self._runs(paragraph, self.size)
        self.ln(0.8)

    @contextmanager
    def _indented(self, width: float) -> Iterator[None]:
        self.set_left_margin(_MARGIN + width)
        self.set_x(_MARGIN + width)
        yield
        self.set_left_margin(_MARGIN)
        self.set_x(_MARGIN)

    def _runs(self, paragraph: Paragraph, size: float) -> None:
        """Write the pieces of a paragraph one behind the other."""
        for run in paragraph:
            self._style(size, "B" if run.bold else "")
            self.write(0.5 * size, run.text)
        self.ln(0.5 * size)

    def _figures(self) -> list[Figure]:
        """Draw figures in pairs, as long as they and the methods fit on the pages."""
        width = (self.epw - _GAP) / 2
        shown: list[Figure] = []
        pairs = [self.content.figures[place : place + 2] for place in range(0, len(self.content.figures), 2)]
        for pair in pairs:
            height = max(self._figure_height(figure, width) for figure in pair)
            if self.get_y() + height > self.page_break_trigger:
                last = self.page == PAGES
                if last or not self._methods_fit(_MARGIN + height):
                    break
                self.add_page()
            elif self.page == PAGES and not self._methods_fit(self.get_y() + height):
                break
            top = self.get_y()
            for column, figure in enumerate(pair):
                self._figure(figure, _MARGIN + column * (width + _GAP), top, width)
            self.set_xy(_MARGIN, top + height + 2)
            shown += pair
        return shown

    def _methods_fit(self, top: float) -> bool:
        """Return whether the methods fit on a page below ``top``."""
        text = "".join(run.text for paragraph in self.content.methods for run in paragraph)
        size = self.size - 1.5
        self._style(size)
        lines = self._lines(text, self.epw) if text else []
        return top + 12 + 0.5 * size * (len(lines) + 1.5) <= self.page_break_trigger

    def _figure_size(self, figure: Figure, width: float) -> tuple[float, float]:
        """Return width and height of a figure's picture, in a column of this width."""
        head = figure.svg.read_bytes()[:4000].decode("utf-8", "replace")
        view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
        if view is None:
            raise ValueError(f"{figure.svg} has no viewBox")
        ratio = float(view[2]) / float(view[1])
        return (width, width * ratio) if width * ratio <= _TALLEST else (_TALLEST / ratio, _TALLEST)

    def _legend_lines(self, figure: Figure, width: float) -> list[str]:
        self._style(6.8)
        return self._lines(figure.legend, width)

    def _lines(self, text: str, width: float) -> list[str]:
        """Return the lines of a text in the current font."""
        lines = self.multi_cell(width, 4, text, dry_run=True, output="LINES", align="L")
        return lines if isinstance(lines, list) else []

    def _figure_height(self, figure: Figure, width: float) -> float:
        return 5 + 3.2 * len(self._legend_lines(figure, width)) + 1 + self._figure_size(figure, width)[1] + 2

    def _figure(self, figure: Figure, left: float, top: float, width: float) -> None:
        self.set_xy(left, top)
        self._style(8.5, "B", _BLUE)
        self.cell(width, 5, figure.title)
        self.set_xy(left, top + 5)
        lines = self._legend_lines(figure, width)
        self._style(6.8, colour=_GREY)
        self.multi_cell(width, 3.2, figure.legend, align="L")
        shape = self._figure_size(figure, width)
        svg = BytesIO(_METADATA.sub(b"", figure.svg.read_bytes()))
        place = top + 5 + 3.2 * len(lines) + 1
        self.image(svg, left, place, *shape, alt_text=f"{figure.title}. {figure.legend}", title=figure.title)
