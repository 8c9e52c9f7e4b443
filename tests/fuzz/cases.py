"""The kinds of cases: how one is made from a seed and a number, and how it is checked."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from airrvec.core import schema
from airrvec.input import reading
from airrvec.input.pairing import POLICIES

from fuzz import configurations, documents, encodings, faults, mutations, properties, samplesheets
from fuzz.corpus import Case, seeds, tables


@dataclass(frozen=True)
class Kind:
    """How cases are made, how they are checked, and their share of all cases."""

    make: Callable[[Random], Case]
    check: Callable[[Case, Path], None]
    share: float


def case(seed: int, number: int) -> Case:
    """The case of a number; the same on every machine with the same files."""
    random = Random(f"{seed}:{number}")
    kinds = [kind.make for kind in KINDS.values()]
    return random.choices(kinds, [kind.share for kind in KINDS.values()])[0](random)


def check(case: Case, folder: Path) -> None:
    """
    Check a case.

    Parameters
    ----------
    folder : Path
        Empty.

    Raises
    ------
    fuzz.properties.Refused
        If the input is refused as it should be.
    Exception
        Anything else is a failure.
    """
    files, results = folder / "in", folder / "out"
    files.mkdir()
    results.mkdir()
    case.write_files(files)
    KINDS[case.kind].check(case, folder)
    found = sorted(path.name for path in folder.iterdir())
    assert found == ["in", "out"], f"files outside of the folder of results: {found}"
    found = {path.name for path in files.iterdir()}
    assert found == set(case.files), f"files beside the input: {sorted(found)}"


def _options(random: Random) -> dict:
    """How a table is normalised."""
    return {
        "sample": random.choice(["s", "s.1", "S_2-b", "0"]),
        "species": random.choice(["homosapiens"] * 3 + ["musmusculus"]),
        "multichain": random.choice(POLICIES),
        "partitions": random.choice([1, 1, 2, 7]),
        "max_rejected": random.choice([100, 100, 100, 50]),
    }


# --- table: anything may be changed

_SHARE_OF_HDF5 = 0.2  # each is read by a process of its own, which takes seconds


def _mutated(random: Random) -> Case:
    shares = {name: _SHARE_OF_HDF5 if name.endswith(".h5ad") else 1 for name in seeds()}
    name = random.choices(list(shares), list(shares.values()))[0]
    options = _options(random)
    content, n_rows = _mutant(name, random)
    packed = encodings.packed(content, random)
    if packed != content and random.random() < 0.2:
        packed, n_rows = mutations.changed_bytes(packed, random), None
    if random.random() < 0.1:
        options["format"] = random.choice(list(reading.FORMATS))
    return Case("table", {"table": packed}, {**options, "n_rows": n_rows})


def _mutant(name: str, random: Random) -> tuple[bytes, int | None]:
    """A file with changes, and how many rows it has, where that is known."""
    content = seeds()[name]
    if random.random() < 0.35:
        return mutations.changed_bytes(content, random), None
    if name in tables():
        table = tables()[name]
        if random.random() < 0.4:
            table = mutations.changed(table, random)
            return table.text().encode(), len(table.rows) if encodings.can_be_spelled(table) else None
        table = mutations.changed(table, random, shapeless=True)
        content = table.text(random.choice(["\n", "\r\n"])).encode()
        return (content if random.random() < 0.7 else mutations.changed_bytes(content, random)), None
    if name.endswith(".json"):
        document = documents.changed_json(json.loads(content), random)
        return documents.json_bytes(document, random), None
    if name.endswith(".parquet"):
        return documents.changed_parquet(content, random), None
    if name.endswith(".h5ad"):
        return documents.changed_hdf5(content, random), None
    return mutations.changed_bytes(content, random), None


def _check_table(case: Case, folder: Path) -> None:
    properties.normalised(folder / "in/table", folder / "out", case.options)


# --- same: a table with other values, in two spellings


def _respelled(random: Random) -> Case:
    table = tables()[random.choice(list(tables()))]
    other = mutations.changed(table, random) if random.random() < 0.8 else table
    if not encodings.can_be_spelled(other):
        other = table
    words, content = encodings.spelled(other, random)
    options = {**_options(random), "n_rows": len(other.rows), "spelling": words}
    return Case("same", {"table": other.text().encode(), "other": content}, options)


def _check_same(case: Case, folder: Path) -> None:
    results, refusals = [], []
    for name in ("table", "other"):
        outdir = folder / "out" / name
        outdir.mkdir()
        try:
            results.append(properties.normalised(folder / "in" / name, outdir, case.options))
        except properties.Refused as refusal:
            refusals.append(refusal)
    if len(refusals) == 2:
        raise refusals[0]
    assert not refusals, f"one spelling is refused: {refusals[0]}"
    properties.check_same(*results)


# --- map: a table that a column map describes


_LIKE = {
    "junction_aa": "cdr3|junction|amino",
    "v_call": r"\bv|av|bv",
    "j_call": r"\bj|aj|bj",
    "cell_id": "cell|barcode",
}


def _column_for(field: str, names: list[str], random: Random) -> str:
    """A column for a field of a column map, most often one whose name is like it."""
    like = next((pattern for end, pattern in _LIKE.items() if field.endswith(end)), field)
    found = [name for name in names if re.search(like, name, re.IGNORECASE)]
    return random.choice(found if found and random.random() < 0.9 else names)


def _mapped(random: Random) -> Case:
    table = mutations.changed(tables()[random.choice(list(tables()))], random)
    fields = random.choice(
        [
            ("v_call", "j_call", "junction_aa", "locus", "cell_id", "duplicate_count", "productive"),
            (*schema.RECEPTOR_FIELDS, "species", "epitope"),
        ]
    )
    junction = next(field for field in fields if field.endswith("junction_aa"))
    picked = {*random.sample(fields, random.randint(1, len(fields))), junction}
    picked = sorted(picked) if random.random() < 0.9 else sorted(picked - {junction})
    content = {field: _column_for(field, table.names, random) for field in picked}
    if random.random() < 0.1:
        content["only"] = {random.choice(table.names): random.choice([1, "TRA", ["TRA", "beta"], [], None])}
    if random.random() < 0.2:
        content = documents.changed_json(content, random)
    text = documents.json_bytes(content, random)
    if random.random() < 0.1:
        text = mutations.changed_bytes(text, random)
    files = {"table": table.text().encode(), "columns.json": text}
    return Case("map", files, {**_options(random), "column_map": "columns.json"})


KINDS: dict[str, Kind] = {
    "table": Kind(_mutated, _check_table, 0.55),
    "same": Kind(_respelled, _check_same, 0.3),
    "map": Kind(_mapped, _check_table, 0.05),
    "sheet": Kind(samplesheets.changed_sheet, samplesheets.check_sheet, 0.05),
    "model": Kind(configurations.changed_model, configurations.check_model, 0.03),
    "preset": Kind(configurations.changed_preset, configurations.check_preset, 0.02),
    "fault": Kind(lambda random: Case("fault", {}), faults.check, 0),
}
