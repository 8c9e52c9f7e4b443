"""Real files, and files read in blocks."""

import subprocess
import sys

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import text_table
from airrvec.input.files.container import LINE_LIMIT

import pandas as pd
import pytest
import tidytcells
from inputs import (
    ALPHA,
    BETA,
    ROOT,
    SCEPTR_COLUMNS,
    SHARED,
    assert_conserved,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    sceptr_row,
    text,
)


def test_dash_demonstration_file():
    path = ROOT / "assets/demo/dash_human.csv"
    table = pd.read_csv(path, dtype=str)
    columns = ["v_a_gene", "j_a_gene", "cdr3_a_aa", "v_b_gene", "j_b_gene", "cdr3_b_aa"]
    result = normalised(path)
    assert result.cells["cell_id"].to_pylist() == table["clone_id"].tolist()
    assert result.cells["epitope"].to_pylist() == table["epitope"].tolist()
    assert result.cells["duplicate_count"].to_pylist() == table["count"].astype(int).tolist()
    assert result.counts["receptors"] == len(table.drop_duplicates(columns)) == 391
    assert result.counts["pairing"] == {"single pair": 415}
    assert len(result.rejects) == 0
    assert_conserved(result, 415)


@needs_shared
@pytest.mark.parametrize(
    ("name", "loci"),
    [
        ("10x_bcr_only_melanoma.csv.gz", "7,002 IGH, 4,624 IGK, 3,453 IGL"),
        ("10x_flu_multi_sample.csv.gz", "10,000 IGH, 5,414 IGK, 4,586 IGL"),
        ("airr_bcr_only.tsv", "79 IGH, 41 IGK, 38 IGL"),
        ("airr_good_rearrangement.tsv", "9 IGH"),
    ],
)
def test_b_cell_files_of_others_are_refused_with_their_loci(name, loci):
    path = SHARED / "formats" / name
    table = pd.read_csv(path, sep=None, engine="python", dtype=str)
    named = next((column for column in ("chain", "locus") if column in table), "v_call")
    locus = table[named].str[:3]
    if "v_gene" in table:
        locus = locus.where(locus != "Mul", table["v_gene"].str[:3])
    assert ", ".join(f"{n:,} {word}" for word, n in locus.value_counts().items()) == loci
    with pytest.raises(
        InputError, match=rf"^s: none of the {len(table):,} rows is an α or β chain .*{loci}\)"
    ):
        normalised(path)


@needs_shared
@pytest.mark.parametrize("name", ["airr_rearrangement_tra.tsv", "airr_rearrangement_trb.tsv"])
def test_airr_fixtures_of_scirpy_whose_genes_are_no_genes(name):
    table = pd.read_csv(SHARED / "formats" / name, sep="\t", dtype=str)
    assert not any(tidytcells.tr.standardize(call, log_failures=False) for call in table["v_call"])
    with pytest.raises(InputError, match=r"4 × v_call is not a V gene listed by IMGT; first: row 1, v_call "):
        normalised(SHARED / "formats" / name)


def test_small_blocks_give_what_one_block_gives(monkeypatch, tmp_path):
    """Rows are numbered, and cells paired, across blocks; malformed rows lie at their borders too."""
    header, *lines = (ROOT / "assets/test/pbmc_b.csv").read_text().splitlines()
    ragged = [line + ",too much" if number % 7 in (0, 1) else line for number, line in enumerate(lines)]
    path = tmp_path / "ragged.csv"
    path.write_text("\n".join([header, *ragged, "x", "y"]) + "\n")
    whole = normalised(path)
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 2_000)
    in_blocks = normalised(path)
    assert len(list(reading.open_chains(path).batches)) > 10
    assert in_blocks.counts == whole.counts
    for name in ("cells", "receptors", "rejects"):
        assert getattr(in_blocks, name).equals(getattr(whole, name))
    ragged_rows = {row for row, line in enumerate([*ragged, "x", "y"], 1) if line not in lines}
    reasons = whole.rejects.to_pandas()
    assert set(reasons.loc[reasons["reason"].str.startswith("holds "), "row"]) == ragged_rows


def test_small_blocks_of_rows_that_stand_alone_give_what_one_block_gives(monkeypatch):
    path = ROOT / "assets/demo/dash_human.csv"
    whole = normalised(path)
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 2_000)
    in_blocks = normalised(path)
    assert in_blocks.counts == whole.counts
    for name in ("cells", "receptors", "rejects"):
        assert getattr(in_blocks, name).equals(getattr(whole, name))


LEFT_OVER = """
import atexit, itertools, threading
from airrvec.input.reading import prefetch

def print_reading():
    print([thread.name for thread in threading.enumerate() if thread is not threading.main_thread()])

atexit.register(print_reading)
items = prefetch(itertools.count())
print(next(items))
raise SystemExit(3)
"""


def test_no_thread_reads_on_when_python_ends():
    """A reader thread that outlives Python aborts it, exit status 134."""
    run = subprocess.run(
        [sys.executable, "-c", LEFT_OVER],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "bin")},
    )
    assert (run.stdout.split("\n"), run.returncode) == (["0", "[]", ""], 3), run.stderr


def test_a_line_of_almost_the_limit_is_read(tmp_path):
    row = [*sceptr_row(ALPHA, BETA), "x" * (LINE_LIMIT - 200)]
    table = text((*SCEPTR_COLUMNS, "note"), [row] * 3)
    assert chains_of(normalised_text(tmp_path / "x.tsv", table)) == [(*ALPHA, *BETA)] * 3
