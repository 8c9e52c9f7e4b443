"""The words of the report's sections, without HTML: what the report says stands in one place."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

# Links whose words mean nothing without their target → what stands in their place.
_LINKS = {"More": "", "why": "see the report"}
_SILENT = ("script", "style")
_BLOCKS = ("li", "p", "div", "ul", "ol", "h3", "h4", "tr")
_BOLD = ("b", "strong", "h3", "h4")


class Run(NamedTuple):
    """A piece of text of one weight."""

    text: str
    bold: bool = False


Paragraph = list[Run]


def read_section(folder: Path, name: str) -> list[Paragraph]:
    """
    Return the paragraphs of a section of text.

    Parameters
    ----------
    folder : Path
        With the sections that report.py wrote, ``<name>_mqc.json``.
    name : str
        Id of the section.

    Returns
    -------
    list of list of Run
        Empty if there is no such section.
    """
    path = folder / f"{name}_mqc.json"
    return paragraphs(json.loads(path.read_text("utf-8"))["data"]) if path.exists() else []


def paragraphs(html: str) -> list[Paragraph]:
    """
    Return the paragraphs and list items of HTML, without markup.

    Examples
    --------
    >>> paragraphs('<li>2 samples are <b>good</b>. <a href="#samples">More</a></li>')
    [[Run(text='2 samples are ', bold=False), Run(text='good', bold=True), Run(text='.', bold=False)]]
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_paragraph()
    return reader.paragraphs


def plain(paragraph: Paragraph) -> str:
    """Return the text of a paragraph."""
    return "".join(run.text for run in paragraph)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.paragraphs: list[Paragraph] = []
        self._runs: Paragraph = []
        self._open: list[str] = []
        self._link: list[str] | None = None

    def handle_starttag(self, tag, attrs):
        if tag in _BLOCKS:
            self.end_paragraph()
        if tag == "br":
            self._add(" ")
        elif tag == "a":
            self._link = []
        else:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag == "a":
            words = "".join(self._link or [])
            self._link = None
            self._add(_LINKS.get(words, words))
        elif tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag in _BLOCKS:
            self.end_paragraph()

    def handle_data(self, data):
        if any(tag in _SILENT for tag in self._open):
            return
        if self._link is not None:
            self._link.append(data)
        else:
            self._add(data)

    def _add(self, text: str) -> None:
        bold = any(tag in _BOLD for tag in self._open)
        before = plain(self._runs)
        words = " ".join(text.split())
        if text[:1].isspace() and before and not before[-1].isspace():
            words = f" {words}"
        if text[-1:].isspace() and words.strip():
            words += " "
        if not words:
            return
        if self._runs and self._runs[-1].bold == bold:
            words = self._runs.pop().text + words
        self._runs.append(Run(words, bold))

    def end_paragraph(self) -> None:
        """End the paragraph, if it has any text."""
        if plain(self._runs).strip():
            self._runs[-1] = self._runs[-1]._replace(text=self._runs[-1].text.rstrip())
            self.paragraphs.append([run for run in self._runs if run.text])
        self._runs = []
