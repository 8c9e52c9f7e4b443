"""Three small results in a folder, written as the command writes its own."""

from pathlib import Path

from airrvec.app import own_files
from airrvec.app.outputs import Outputs
from airrvec.core.errors import InputError

import pytest

NAMES = ("a.tsv", "a.parquet", "deep/b.txt")


def outputs(folder: Path, **options) -> Outputs:
    return Outputs(folder, (NAMES[:2], NAMES[2:]), **options)


def write(folder: Path, text: str = "1", names=NAMES, **options) -> None:
    with outputs(folder, **options).written() as staged:
        for name in names:
            (staged / name).parent.mkdir(exist_ok=True)
            (staged / name).write_text(f"{name} {text}")


def content(folder: Path) -> dict[str, str]:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return {name: (folder / name).read_text() for name in names if not name.startswith(own_files.PLACE)}


def written(text: str, names=NAMES) -> dict[str, str]:
    return {name: f"{name} {text}" for name in names}


def message(function) -> str:
    with pytest.raises(InputError) as raised:
        function()
    return str(raised.value)
