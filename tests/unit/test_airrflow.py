"""Tables of nf-core/airrflow, as docs/guides/other_pipelines.md takes them: its clones are kept."""

import re
import shutil
import subprocess

from airrvec.core import tables
from airrvec.core.schema import SPECIES

import pandas as pd
import pytest
from inputs import DATA, ROOT

import normalise_receptors

PAGE = (ROOT / "docs/guides/other_pipelines.md").read_text()


@pytest.fixture
def airrflow(tmp_path):
    """Return a folder in which airrflow left the clones of two donors."""
    for donor, sample in (("donor 1", "s1"), ("donor2", "s2")):
        folder = tmp_path / f"airrflow/clonal_analysis/clonal_assignment/{donor}/repertoires"
        folder.mkdir(parents=True)
        shutil.copy(DATA / "airrflow_clone-pass.tsv", folder / f"{sample}_clone-pass.tsv")
    return tmp_path


def test_the_loop_of_the_page_writes_a_samplesheet(airrflow):
    loop = re.search(r"```bash\n(.*> samplesheet.csv)\n", PAGE, re.DOTALL)[1]
    subprocess.run(["bash", "-eu", "-c", loop], cwd=airrflow, check=True)
    sheet = pd.read_csv(airrflow / "samplesheet.csv")
    assert sheet[["sample", "donor"]].to_numpy().tolist() == [["s1", "donor 1"], ["s2", "donor2"]]
    assert all((airrflow / path).exists() for path in sheet["path"])


def test_cells_counts_and_clones_are_kept(tmp_path):
    table = DATA / "airrflow_clone-pass.tsv"
    normalise_receptors.main([str(table), "--sample", "s1", "--outdir", str(tmp_path)])
    cells, chains, rejects = (
        tables.read(tmp_path / f"s1.{name}.parquet").to_pandas() for name in ("cells", "chains", "rejects")
    )
    assert cells["cell_id"].tolist() == ["AAAC-1", "AAAG-1"]
    assert cells["chain_pairing"].tolist() == ["single pair", "orphan VDJ"]
    assert set(cells["species"]) <= set(SPECIES)
    assert chains[["cell_id", "locus", "clone_id", "duplicate_count"]].to_numpy().tolist() == [
        ["AAAC-1", "TRA", "17", 6],
        ["AAAC-1", "TRB", "17", 14],
        ["AAAG-1", "TRB", "17", 9],
    ]
    assert rejects["reason"].tolist() == ["the chain is not productive"]


def test_the_columns_that_the_page_names_are_in_the_table():
    columns = pd.read_csv(DATA / "airrflow_clone-pass.tsv", sep="\t", nrows=0).columns
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)))
    assert {"clone_id", "cell_id", "subject_id"} <= {*named}
    assert {name for name in named if name.islower()} - {"human", "mouse"} <= {*columns}
