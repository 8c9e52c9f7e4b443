"""The demonstration's data, and the pictures of the README."""

import csv
import re

from inputs import ROOT

DEMO = ROOT / "assets/demo"


def rows(path) -> list[dict]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_donors_are_either_samples_or_reference():
    """Together they are the labelled table; no donor is in two files, so that nobody annotates himself."""
    files = [*(DEMO / "donors").iterdir(), DEMO / "other_donors.csv"]
    found = [rows(path) for path in files]
    every = sorted((row for of_file in found for row in of_file), key=lambda row: row["clone_id"])
    assert every == sorted(rows(DEMO / "dash_human.csv"), key=lambda row: row["clone_id"])
    subjects = [{row["subject"] for row in of_file} for of_file in found]
    assert sum(map(len, subjects)) == len(set.union(*subjects))


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
