"""
The one contract of all that the command writes.

airrvec writes where it was told. It replaces only what its own list of a folder, a seal or a manifest names,
follows no link out of the folder, and never writes over an input. A verb states its outputs before its first
script; nothing is written before they are checked. Its scripts write to a temporary folder beside them, and
all files get their names together at the end: a verb that fails or is killed has changed nothing.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from airrvec.app import folders, own_files
from airrvec.app.own_files import Inputs, folded
from airrvec.core.errors import InputError

# What the disk refuses → what to do.
_ACCESS, _SPACE = "airrvec reads and writes there: give another place", "Free some, or give another place"
_REFUSALS = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR), _ACCESS),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _SPACE),
    errno.ENAMETOOLONG: "Give a shorter name",
}


@contextmanager
def sentences_of_the_disk() -> Iterator[None]:
    """Turn errors of the disk into an `InputError`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REFUSALS or error.filename is None:
            raise
        places = " → ".join(f"'{name}'" for name in (error.filename, error.filename2) if name)
        raise InputError(f"{places}: {error.strerror}", fix=_REFUSALS[error.errno]) from error


@dataclass(frozen=True)
class Outputs:
    """
    What a verb writes into a folder.

    Attributes
    ----------
    folder : Path
        Made if it is not there.
    units : tuple of tuple of str
        Names relative to the folder, of files that belong together: where a run writes some of a unit, files
        of an earlier run that it does not write are deleted.
    inputs : tuple of Path
        Files and folders that the verb reads.
    overwrite : bool
        Whether files that airrvec did not write may be replaced. Inputs never are.
    option : str
        The option that names the place.
    """

    folder: Path
    units: tuple[tuple[str, ...], ...]
    inputs: tuple[Path, ...] = ()
    overwrite: bool = False
    option: str = "--outdir"

    @cached_property
    def _protected(self) -> Inputs:
        return Inputs(self.inputs)

    @property
    def names(self) -> list[str]:
        """All names."""
        return [name for unit in self.units for name in unit]

    def check(self) -> None:
        """
        Check that every name can be written.

        Raises
        ------
        InputError
            If one is an input, is there already and not airrvec's, or is reached through a link.
        """
        clash = _first_twice(self.names)
        if clash:
            raise InputError(
                f"two results of this command have the same name, '{clash}'",
                fix="Give the samples, models or files names that differ in more than case and endings",
            )
        if os.path.lexists(self.folder) and not self.folder.is_dir():
            raise InputError(
                f"{self.option}: '{self.folder}' is not a folder", fix=f"Give another {self.option}"
            )
        self._check(self.names, own_files.read(self.folder))

    def claim(self) -> None:
        """
        Check all names, and list them as files that airrvec changes while it works.

        Raises
        ------
        InputError
            As `check`.
        """
        self.check()
        self.folder.mkdir(parents=True, exist_ok=True)
        with own_files.listed(self.folder) as files:
            self._check(self.names, files)
            own_files.write(self.folder, {**files, **dict.fromkeys(self.names, own_files.CHANGING)})

    @contextmanager
    def written(self) -> Iterator[Path]:
        """
        Yield a temporary folder; move its files to their names at the end, if the block raises no error.

        Raises
        ------
        InputError
            As `check`, before the block. After the block, if a file has appeared meanwhile that is in the
            way: the results then stay in a folder that the error names.
        """
        self.check()
        absent = [path for path in (self.folder, *self.folder.parents) if not os.path.lexists(path)]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            folders.remove_abandoned(self.folder, "airrvec")
            with folders.new(self.folder / "airrvec") as staged:
                yield staged
                self._publish(staged)
        finally:
            for path in absent:
                with suppress(OSError):  # it has content
                    path.rmdir()

    def _publish(self, staged: Path) -> None:
        paths = [path for path in sorted(staged.rglob("*")) if path.is_file()]
        names = [path.relative_to(staged).as_posix() for path in paths if path.name != folders.LOCK]
        new = {name: own_files.state(staged / name) for name in names}
        with own_files.listed(self.folder) as files:
            try:
                self._check(names, files)
            except InputError as error:
                raise self._set_aside(staged, error) from error
            # The list names both states until all files are there.
            states = {name: [*_states(files.get(name)), state] for name, state in new.items()}
            own_files.write(self.folder, {**files, **states})
            for name in names:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(staged / name, self.folder / name)
            stale = self._stale(names, files)
            for name in stale:
                (self.folder / name).unlink(missing_ok=True)
            kept = {name: states for name, states in files.items() if name not in stale}
            own_files.write(self.folder, {**kept, **{name: [state] for name, state in new.items()}})

    def _stale(self, names: list[str], files: dict[str, own_files.States]) -> list[str]:
        """Return own files of an earlier run that belong to what this one has written."""
        missing = [name for unit in self.units if {*unit} & {*names} for name in unit if name not in names]
        present = [name for name in missing if os.path.lexists(self.folder / name)]
        return [
            name
            for name in present
            if own_files.is_own(self.folder / name, files.get(name)) and not self._link_above(name)
        ]

    def _set_aside(self, staged: Path, error: InputError) -> InputError:
        """Give the temporary folder a name under which it stays; return the error that says so."""
        kept = self.folder / staged.name.strip(".").replace(".tmp", "")
        staged.rename(kept)
        (kept / folders.LOCK).unlink()
        return InputError(error.described["problem"], fix=f"The results are in '{kept}': move them")

    def _check(self, names: list[str], files: dict[str, own_files.States]) -> None:
        for name in names:
            self._check_path(name)
        for name in names:
            if os.path.lexists(self.folder / name):
                self._check_present(self.folder / name, files.get(name))

    def _check_path(self, name: str) -> None:
        path = self.folder / name
        if link := self._link_above(name):
            raise InputError(
                f"'{link}' is a link, or no folder, and results would be written through it",
                fix=f"Move it away, or give another {self.option}",
            )
        if source := self._protected.match(path):
            is_other_name = os.path.abspath(source) != os.path.abspath(path)
            raise InputError(
                f"'{path}' would be written, and is an input of this command"
                + (f" ('{source}')" if is_other_name else ""),
                fix=f"Give another {self.option}",
            )

    def _check_present(self, path: Path, states: own_files.States | None) -> None:
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
            raise InputError(
                f"'{path}' is a folder, or no ordinary file, and a file of that name would be written",
                fix=f"Move it away, or give another {self.option}",
            )
        if self.overwrite or own_files.is_own(path, states):
            return
        how = "has been changed since airrvec wrote it" if states else "was not written by this command"
        raise InputError(
            f"'{path}' is there already and {how}",
            fix=f"Move it away, give another {self.option}, or replace it with --overwrite",
        )

    def _link_above(self, name: str) -> Path | None:
        """Return the first folder below the folder of the results that is a link or no folder."""
        path = self.folder
        for part in Path(name).parts[:-1]:
            path = path / part
            if not os.path.lexists(path):
                return None
            if path.is_symlink() or not path.is_dir():
                return path
        return None


def _first_twice(names: list[str]) -> str | None:
    seen = set()
    for name in names:
        if folded(name) in seen:
            return name
        seen.add(folded(name))
    return None


def _states(states: own_files.States | None) -> list:
    return [] if states is None or isinstance(states, str) else states
