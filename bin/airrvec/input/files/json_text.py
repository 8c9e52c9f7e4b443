"""JSON text of any size, read value by value."""

import io
import json
import re
from collections.abc import Iterator

from airrvec.core.errors import InputError

CHUNK = 1 << 20  # characters read at a time
VALUE_LIMIT = 64 << 20  # characters of one record or other value

_BLANK = re.compile(r"[ \t\r\n]*")
_AFTER_A_VALUE = tuple(" \t\r\n,:]}")
# Integers stay text, so that they may have any length.
_decode = json.JSONDecoder(parse_int=str).raw_decode


class JsonText:
    """Parts of a JSON text, in order."""

    def __init__(self, handle: io.TextIOBase, path):
        self._handle, self._path, self._text, self._at = handle, path, "", 0

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, characters: str) -> str:
        """Consume and return the next character, which must be one of ``characters``."""
        found = self.peek()
        if not found or found not in characters:
            raise ValueError(f"{' or '.join(characters)} expected, found {found or 'the end'}")
        self._at += 1
        return found

    def value(self):
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
                length = end - self._at
                # A number may continue after the end of the text read so far.
                if self._text[end : end + 1] in _AFTER_A_VALUE or not self._more():
                    self._at += length
                    return value
            except json.JSONDecodeError:
                if len(self._text) - self._at > VALUE_LIMIT:
                    raise self._too_long() from None
                if not self._more():
                    raise

    def skip(self) -> None:
        """Skip the next value; skip a list item by item."""
        if self.peek() != "[":
            self.value()
            return
        for _ in self.items():
            pass

    def items(self) -> Iterator:
        """Yield the values of a list."""
        self.take("[")
        more = self.peek() != "]"
        while more:
            yield self.value()
            more = self.peek() != "]"
            if more:
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """Yield the names in an object; the caller must read or skip the value of each."""
        self.take("{")
        more = self.peek() != "}"
        while more:
            name = self.value()
            self.take(":")
            yield name
            more = self.peek() != "}"
            if more:
                self.take(",")
        self.take("}")

    def _too_long(self) -> InputError:
        return InputError(
            f"a record is longer than {VALUE_LIMIT >> 20} MB",
            file=self._path,
            fix="Check that the file is a list of records of chains, receptors or cells",
        )

    def _more(self) -> bool:
        # Doubles the text at hand, so that a long value is decoded only a few times.
        chunk = self._handle.read(max(CHUNK, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)
