"""The beginning of every table is looked at before a run: its format, species and chains."""

import gzip
import json
import time
from pathlib import Path

from airrvec.app.verbs import work
from airrvec.core.errors import InputError
from airrvec.input import species_names
from airrvec.input.samplesheet import checks

import pandas as pd
import pytest
import tidytcells
from inputs import ALPHA, BETA, DATA, ROOT, SCEPTR_COLUMNS, normalised_text, sceptr_row, text

PBMC = ROOT / "assets/test/pbmc_b.csv"


def genes(species: str, locus: str, segment: str) -> list[str]:
    found = tidytcells.tr.query(species=species, precision="gene", functionality="F")
    return sorted(gene for gene in found if gene.startswith(locus + segment))


def contigs(species: str, n: int = 200) -> str:
    """10x contigs of cells whose genes are all functional ones of a species in turn."""
    lines = ["barcode,is_cell,contig_id,high_confidence,chain,v_gene,j_gene,productive,cdr3,reads,umis"]
    for locus, junction in (("TRA", "CAVRDSWGKLQF"), ("TRB", "CASSEGTEAFF")):
        v_genes, j_genes = (genes(species, locus, segment) for segment in "VJ")
        lines += [
            f"cell{i},True,cell{i}_{locus},True,{locus},{v_genes[i % len(v_genes)]},"
            f"{j_genes[i % len(j_genes)]},True,{junction},9,3"
            for i in range(n)
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def mouse(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("mouse") / "mouse.csv"
    path.write_text(contigs("musmusculus"))
    return path


def test_a_mouse_table_is_no_human_one(mouse):
    with pytest.raises(InputError, match="V genes exist in mouse and not in human") as told:
        checks.look(mouse, None, None, "homosapiens")
    assert "Write musmusculus in the column 'species' of the samplesheet" in str(told.value)
    head = checks.look(mouse, None, None, "musmusculus")
    assert (head.format, head.species, head.share) == ("10x", {"musmusculus": 200}, 1)


def test_a_human_table_is_no_mouse_one():
    with pytest.raises(InputError, match="V genes exist in human and not in mouse"):
        checks.look(PBMC, None, None, "musmusculus")
    assert checks.look(PBMC, None, None, "homosapiens").species == {"homosapiens": 79}


def test_the_whole_table_is_held_to_its_species_too(tmp_path):
    """Where the beginning is of genes that both species have."""
    content = contigs("musmusculus")
    with pytest.raises(InputError, match=r"s: .* V genes exist in mouse"):
        normalised_text(tmp_path / "m.csv", content)
    assert normalised_text(tmp_path / "m.csv", content, species="musmusculus").counts["cells"] == 200


def test_a_few_names_of_another_species_end_nothing(tmp_path):
    """Of one mouse gene among human ones, a row is rejected; of few rows in all, a warning says it."""
    rows = [sceptr_row(ALPHA, BETA)] * 9 + [sceptr_row(beta=("TRBV13-2", "TRBJ2-1", "CASGEGTEAFF"))]
    result = normalised_text(tmp_path / "t.tsv", text(SCEPTR_COLUMNS, rows))
    assert result.counts["rows_out"] == 9
    rows = [sceptr_row(("TRAV6-5", *ALPHA[1:]), ("TRBV19", *BETA[1:]))]
    (warning,) = normalised_text(tmp_path / "t.tsv", text(SCEPTR_COLUMNS, rows)).counts["warnings"]
    assert "V genes exist in mouse and not in human" in warning


def test_a_species_that_rows_name_comes_before_the_sheets(tmp_path):
    frame = pd.DataFrame([sceptr_row(ALPHA, BETA)] * 6, columns=SCEPTR_COLUMNS).assign(species="human")
    frame.to_csv(tmp_path / "t.csv", index=False)
    head = checks.look(tmp_path / "t.csv", None, None, "musmusculus")
    assert head.species == {"homosapiens": 6}
    content = (tmp_path / "t.csv").read_text()
    told = normalised_text(tmp_path / "t.csv", content, species="musmusculus").counts["warnings"]
    assert told[-1] == "6 of 6 cells are not musmusculus: their rows name another species"


@pytest.mark.parametrize("species", ["homosapiens", "musmusculus"])
def test_genes_tell_their_species(species):
    """Every functional V gene is one of its species; most are of no other."""
    found = [
        species_names.species_of_gene(gene) for locus in ("TRA", "TRB") for gene in genes(species, locus, "V")
    ]
    assert all(species in names for names in found)
    assert sum(names == {species} for names in found) > 0.45 * len(found)


def test_a_large_table_is_not_read_whole(tmp_path):
    header, *rows = PBMC.read_text().splitlines()
    path = tmp_path / "large.csv.gz"
    path.write_bytes(gzip.compress("\n".join([header, *rows * 400]).encode(), 1))
    start = time.process_time()
    head = checks.look(path, None, None, "homosapiens")
    assert time.process_time() - start < 2
    assert head.share < 0.2
    assert 1000 < head.rows < 20_000


def test_b_cells_are_told_where_the_table_was_read_to_its_end(tmp_path):
    b_cells = PBMC.read_text().replace("TRA", "IGK").replace("TRB", "IGH")
    (tmp_path / "b.csv").write_text(b_cells)
    with pytest.raises(InputError, match="none of the 200 rows is an α or β chain"):
        checks.look(tmp_path / "b.csv", None, None, "homosapiens")
    # Sorted by locus: 20 MB of B-cell receptors before the first α chain.
    header, *rows = b_cells.splitlines()
    (tmp_path / "sorted.csv").write_text("\n".join([header, *rows * 900, *PBMC.read_text().splitlines()[1:]]))
    head = checks.look(tmp_path / "sorted.csv", None, None, "homosapiens")
    assert head.kept == 0 < head.rows


def test_a_line_longer_than_the_look_is_left_to_the_task(tmp_path):
    (tmp_path / "long.csv").write_text("x" * (3 << 20))
    assert checks.look(tmp_path / "long.csv", None, None, "homosapiens") == checks.NOT_SEEN


def test_a_first_row_longer_than_the_look_is_left_to_the_task_too(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text(f"TRAV\tCDR3A\n{'x' * (2 << 20)}\ty\n")
    assert checks.look(path, None, None, "homosapiens") == checks.NOT_SEEN


def test_an_empty_table_is_called_empty(tmp_path):
    (tmp_path / "none.tsv").touch()
    with pytest.raises(InputError, match=r"none\.tsv: the file is empty"):
        checks.look(tmp_path / "none.tsv", None, None, "homosapiens")


def test_a_file_is_named_once(tmp_path, monkeypatch):
    """The command without a samplesheet has no other place to name."""
    (tmp_path / "none.tsv").touch()
    monkeypatch.chdir(tmp_path)
    table = checks.Table("sample", "none", "none.tsv", 1, Path("none.tsv"))
    _, (problem,) = checks.check([table])
    assert str(problem.error).count("none.tsv") == 1


def checked(folder: Path, sheet: str, tables: list, **more) -> tuple[dict, pd.DataFrame, list]:
    """What check_samples.py leaves, with the tables staged as Nextflow stages them."""
    (folder / "s.csv").write_text(sheet)
    entries = []
    for number, (line, given, table, *problem) in enumerate(tables, start=1):
        if table:
            (folder / f"tables/{number}").mkdir(parents=True)
            (folder / f"tables/{number}/{table.name}").symlink_to(table)
        entries.append(
            {
                **{"part": "sample", "line": line, "path": given, "table": number if table else None},
                **{"column_map": None, "problem": problem[0] if problem else None},
            }
        )
    request = {
        "species": "homosapiens",
        "compare_by": None,
        "compare_within": None,
        "max_unpacked": 2,
        "tables": entries,
        **more,
    }
    (folder / "request.json").write_text(json.dumps(request))
    names = {"out": "checked.json", "seen": "samples.tsv", "missing": "x.missing.json"}
    work.script("check_samples").main(
        [
            *("--sheet", str(folder / "s.csv"), "--request", str(folder / "request.json")),
            *("--tables", str(folder / "tables"), "--maps", str(folder / "maps")),
            *(word for name, file in names.items() for word in (f"--{name}", str(folder / file))),
        ]
    )
    found, missing = (json.loads((folder / names[name]).read_text()) for name in ("out", "missing"))
    return found, pd.read_csv(folder / "samples.tsv", sep="\t"), missing


def test_three_samples_fail_in_one_message(tmp_path, mouse):
    (tmp_path / "junk.csv").write_text("a,b\n1,2\n")
    sheet = "sample,path,tissue\na,pbmc.csv,x\nj,junk.csv,\nm,mouse.csv,\nn,nowhere.csv,\n"
    tables = [
        (2, "pbmc.csv", PBMC),
        (3, "junk.csv", tmp_path / "junk.csv"),
        (4, "mouse.csv", mouse),
        (5, "nowhere.csv", None, "column 'path': there is no file 'nowhere.csv'"),
    ]
    found, seen, missing = checked(tmp_path, sheet, tables)
    assert [problem["sample"] for problem in found["problems"]] == ["j", "m", "n"]
    reasons = [problem["reason"] for problem in found["problems"]]
    assert reasons[0].startswith("s.csv, row 2: junk.csv: its columns (a, b) match no known format")
    assert reasons[1].startswith("s.csv, row 3: mouse.csv: ")
    assert reasons[2] == "s.csv, row 4, column 'path': there is no file 'nowhere.csv'."
    assert missing == [
        {"part": "sample", "name": name, "reason": reason}
        for name, reason in zip("jmn", reasons, strict=True)
    ]
    (left,) = found["tables"]
    assert left == {
        "number": 0,
        "id": "a",
        "format": "",
        "species": "homosapiens",
        "row_unit": None,
        "count_unit": None,
        "metadata": {"tissue": "x"},
        "hla": "",
    }
    names = ["sample_id", "format", "species", "row_unit", "count_unit", "rows", "kept"]
    assert seen[names].iloc[0].tolist() == [
        *("a", "10x", "homosapiens", "chain", "cells", 200, 144),
    ]


def test_species_of_a_sample_is_that_of_its_row(tmp_path, mouse):
    sheet = "sample,path,species\nh,pbmc.csv,\nm,mouse.csv,mus musculus\n"
    found, seen, _ = checked(tmp_path, sheet, [(2, "pbmc.csv", PBMC), (3, "mouse.csv", mouse)])
    assert found["problems"] == []
    assert [table["species"] for table in found["tables"]] == ["homosapiens", "musmusculus"]
    assert seen["species"].tolist() == ["homosapiens", "musmusculus"]


def test_every_table_has_the_metadata_of_all(tmp_path):
    """The labelled table too, so that all tables of cells have the same columns."""
    labelled = {
        **{"part": "labelled", "format": None, "species": "homosapiens", "problem": None},
        **{"table": None, "column_map": None},
    }
    (tmp_path / "s.csv").write_text("sample,path,x,y\na,b,1,\n")
    entry = {"part": "sample", "line": 2, "path": "b", "table": None, "column_map": None, "problem": None}
    request = {
        "species": "homosapiens",
        "compare_by": "x",
        "compare_within": None,
        "max_unpacked": 2,
        "tables": [entry, labelled],
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    options = ("--sheet", tmp_path / "s.csv", "--request", tmp_path / "request.json", "--out", tmp_path / "o")
    others = ("--seen", tmp_path / "t", "--missing", tmp_path / "m.missing.json")
    work.script("check_samples").main([str(word) for word in (*options, *others)])
    tables = json.loads((tmp_path / "o").read_text())["tables"]
    assert [table["metadata"] for table in tables] == [{"x": "1", "y": None}, {"x": None, "y": None}]


def test_files_lie_beside_the_sheet_or_in_the_folder(tmp_path, monkeypatch):
    (tmp_path / "sheets").mkdir()
    for place in ("sheets/beside.csv", "sheets/both.csv", "both.csv", "here.csv"):
        (tmp_path / place).touch()
    monkeypatch.chdir(tmp_path)
    sheet = Path("sheets/s.csv")
    found = [checks.locate_file(name, sheet) for name in ("beside.csv", "both.csv", "here.csv", "none.csv")]
    assert found == [Path("sheets/beside.csv"), Path("sheets/both.csv"), Path("here.csv"), None]


TABLES = [path for path in DATA.iterdir() if path.suffix in {".csv", ".tsv", ".json", ".h5ad", ".h5mu"}]


@pytest.mark.parametrize("path", sorted(TABLES), ids=lambda path: path.name)
def test_every_fixture_that_can_be_read_passes(path):
    """What the whole table is read as is what its beginning is."""
    head = checks.look(path, None, None, "homosapiens")
    assert head.format
    assert head.share == 1
