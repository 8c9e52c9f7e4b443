"""Cases of samplesheets: names that would leave the folder of results, reserved columns, broken text."""

from pathlib import Path
from random import Random

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input.samplesheet import sheet as samplesheet

from fuzz import encodings, mutations
from fuzz.corpus import Case, Table
from fuzz.properties import Refused, check_sentence

_PLAIN = "A b patient_1 P.1-x a"
_HOSTILE = (
    ".hidden _a -rf .. ../../escaped /etc/passwd C:\\x a/b labelled Reference CON a* $(id) `id` é 日本 s,1"
)
_NAMES = [*_PLAIN.split(), *_HOSTILE.split()]
_OPTIONAL = ["format", "column_map", "species", "tissue", "hla", "row_unit", "count_unit"]
_RESERVED = "sample path Sample SPECIES epitope receptor_id dim_01 cell_id index condition tra_v_call"
_FILES = (
    "t.csv t.tsv.gz x/y.csv ../t.csv 10x airr sceptr XLSX human mouse musmusculus dog map.json blood =1+1"
)
_TYPINGS = "A*02:01;B7 a2 H-2b HLA-DRB1*04:01 A*99:99 A* DR53 A*24:09N A*02:01/02:06 ;;; A*02:01;$(id)"
_VALUES = ["", " ", *_NAMES, *_FILES.split(), *_TYPINGS.split()]
_OF_TYPINGS = {*"HLABCDEFGIKPQRSN0123456789*:;-", *"abcdefghijklmnopqrstuvwxyz"}  # checked HLA, in quotes


def changed_sheet(random: Random) -> Case:
    """A samplesheet, most often with a name, a column or a cell that it may not have."""
    header = ["sample", "path", *random.sample(_OPTIONAL, random.randint(0, 4))]
    rows = [
        [random.choice(_NAMES[:5]) + str(number), f"t{number}.csv", *[""] * (len(header) - 2)]
        for number in range(random.randint(1, 5))
    ]
    table = Table([header], rows, ",")
    for _ in range(random.choice([0, 1, 1, 3])):
        row = random.choice(rows)
        row[random.randrange(len(row))] = random.choice(_VALUES)
    if random.random() < 0.3:
        header[random.randrange(len(header))] = random.choice(_RESERVED.split())
    if random.random() < 0.4:
        table = mutations.changed(table, random, shapeless=random.random() < 0.5)
    text = table.text(random.choice(["\n", "\r\n", "\r"]))
    content = text.encode("utf-8-sig" if random.random() < 0.1 else "utf-8", errors="replace")
    if random.random() < 0.3:
        content = mutations.changed_bytes(content, random)
    return Case("sheet", {"sheet.csv": encodings.packed(content, random)})


def check_sheet(case: Case, folder: Path) -> None:
    """Each row is a sample whose files lie in the folder of results, or a problem that names the row."""
    path = folder / "in/sheet.csv"
    samplesheet.is_samplesheet(path)
    try:
        sheet = samplesheet.read(path, "homosapiens")
    except InputError as error:
        check_sentence(str(error))
        raise Refused(str(error)) from error
    for problem in sheet.problems:
        check_sentence(str(problem.error))
    names = [sample.name for sample in sheet.samples]
    assert len({name.casefold() for name in names}) == len(names), (
        f"names that some disks do not tell apart: {names}"
    )
    for name in names:
        cells = (folder / "out" / f"{name}.cells.parquet").resolve()
        assert cells.parent == (folder / "out").resolve(), f"{name!r} leaves the folder of results"
        assert name.isascii(), name
        assert name.isprintable(), name
        assert name[0] not in "._-", f"{name!r} is hidden, or looks like an option"
    for sample in sheet.samples:
        assert sample.species in schema.SPECIES
        assert not set(sample.hla) - _OF_TYPINGS, f"{sample.hla!r} is not safe in a shell"
        assert list(sample.metadata) == sheet.metadata
        assert not {*map(str.lower, sample.metadata)} & {
            *schema.CELLS.names,
            *schema.COLLECTED_RECEPTORS.names,
        }
    if not any(problem.row == 0 for problem in sheet.problems):
        rows = {entry.row for entry in [*sheet.samples, *sheet.problems]}
        assert rows == set(range(1, len(rows) + 1)), f"rows {sorted(rows)} are told of"
    if sheet.problems:
        raise Refused(str(sheet.problems[0].error))
