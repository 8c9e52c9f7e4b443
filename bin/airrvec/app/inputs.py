"""The inputs of a command, recognised by any name."""

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path


class Inputs:
    """Files that are never written: those given, and those in folders that are given."""

    def __init__(self, paths: Iterable[Path]):
        self._paths = tuple(paths)

    def match(self, path: Path) -> Path | None:
        """
        Return the input that a path is: by another name, link or spelling too.

        Names that differ only in case, or in the composition of their accents, are one file on some disks.
        """
        with suppress(OSError):
            status = os.stat(path)
            if source := self._files.get((status.st_dev, status.st_ino)):
                return source
        return self._spellings.get(_spelling(path))

    @cached_property
    def _files(self) -> dict[tuple[int, int], Path]:
        files = {}
        for path in map(Path, self._every_path()):
            with suppress(OSError):
                status = os.stat(path)
                if not stat.S_ISDIR(status.st_mode):
                    files.setdefault((status.st_dev, status.st_ino), path)
        return files

    @cached_property
    def _spellings(self) -> dict[tuple, Path]:
        spelt = {_spelling(path): path for path in self._paths if not os.path.isdir(path)}
        return {key: path for key, path in spelt.items() if key}

    def _every_path(self) -> Iterator[str]:
        for path in self._paths:
            yield str(path)
            for folder, _, names in os.walk(path):
                yield from (os.path.join(folder, name) for name in names)


def _spelling(path: Path) -> tuple | None:
    """Return the folder of a path and its name, in one spelling; None without the folder."""
    try:
        folder = os.stat(path.parent)
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, folded(path.name)


def folded(name: str) -> str:
    """Return a name in one spelling: of its case and of its accents."""
    return unicodedata.normalize("NFC", name).casefold()
