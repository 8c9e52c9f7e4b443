"""The demonstration's data, and the pictures of the README."""

import csv
import re

from airrvec.core import hla
from airrvec.input import reading
from airrvec.input.formats.column_map import read_column_map
from airrvec.input.normalise import normalise

from inputs import ROOT, normalised

DEMO = ROOT / "assets/demo"


# Public facts of the epitopes of Dash et al. 2017: gene, species, class and allele of the MHC.
ANTIGENS = {
    "M1": ("M1", "Influenza A", "MHCI", "HLA-A*02:01"),
    "pp65": ("pp65", "CMV", "MHCI", "HLA-A*02:01"),
    "BMLF": ("BMLF1", "EBV", "MHCI", "HLA-A*02:01"),
}
ADDED = ("antigen_gene", "antigen_species", "mhc_class", "mhc_a")


def rows(path) -> list[dict]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_donors_are_either_samples_or_reference():
    """Together they are the labelled table; no donor is in two files, so that nobody annotates himself."""
    files = [*(DEMO / "donors").iterdir(), DEMO / "other_donors.csv"]
    found = [rows(path) for path in files]
    for row in (row for of_file in found for row in of_file):
        assert tuple(row.pop(name) for name in ADDED) == ANTIGENS[row["epitope"]]
    every = sorted((row for of_file in found for row in of_file), key=lambda row: row["clone_id"])
    assert every == sorted(rows(DEMO / "dash_human.csv"), key=lambda row: row["clone_id"])
    subjects = [{row["subject"] for row in of_file} for of_file in found]
    assert sum(map(len, subjects)) == len(set.union(*subjects))


def test_readers_carry_the_antigens_of_donors_and_of_the_reference():
    columns = read_column_map(DEMO / "other_donors.json")
    cells = [
        normalised(DEMO / "donors/ebv_1.csv").cells,
        normalise(
            reading.open_chains(DEMO / "other_donors.csv", columns=columns),
            sample_id="reference",
            species="homosapiens",
        ).cells,
    ]
    for table in cells:
        found = zip(*(table[name].to_pylist() for name in ("epitope", *ADDED)), strict=True)
        assert set(found) <= {(epitope, *about) for epitope, about in ANTIGENS.items()}
    assert set(cells[1]["epitope"].to_pylist()) == set(ANTIGENS)


def test_the_samplesheet_types_the_donors_by_their_tetramers():
    sheet = {row["path"]: row["hla"] for row in rows(DEMO / "samplesheet.csv")}
    assert {path for path, typing in sheet.items() if typing} == {
        f"donors/{path.name}" for path in (DEMO / "donors").iterdir()
    }
    for typing in filter(None, sheet.values()):
        donor = hla.parse_typing(typing)
        assert {hla.allows(donor, hla.parse_mhc(about[-1])) for about in ANTIGENS.values()} == {"allowed"}


def test_the_samplesheet_names_every_donors_stain():
    """What a donor's cells were sorted by is what their rows say."""
    sheet = {row["path"]: row["stain"] for row in rows(DEMO / "samplesheet.csv") if not row["role"]}
    for path in (DEMO / "donors").iterdir():
        assert {sheet.pop(f"donors/{path.name}")} == {row["epitope"] for row in rows(path)}
    assert set(sheet.values()) == {""}


def test_pictures_of_the_readme_are_there_and_small():
    pictures = re.findall(r"!\[[^]]*\]\((docs/images/[^)]+)\)", (ROOT / "README.md").read_text())
    assert len(pictures) >= 4
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 150_000
