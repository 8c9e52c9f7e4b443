"""Elements of the drawings in a page, for the tests of what they show."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Element:
    """An element with its attributes, its own text, and what is inside."""

    name: str
    attributes: dict[str, str]
    text: str = ""
    inside: list["Element"] = field(default_factory=list)

    def all(self, name: str) -> list["Element"]:
        """Return the elements of a name, at any depth, in their order."""
        return [
            found
            for child in self.inside
            for found in [*([child] if child.name == name else []), *child.all(name)]
        ]

    @property
    def title(self) -> str:
        """What appears under the pointer."""
        return next(child.text for child in self.inside if child.name == "title")

    def number(self, attribute: str) -> float:
        return float(self.attributes[attribute])


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop().name == tag

    def handle_data(self, data):
        self.open[-1].text += data


def elements(html: str) -> Element:
    """Return the page whose elements are those of a text; each must be closed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    (page,) = reader.open
    return page
