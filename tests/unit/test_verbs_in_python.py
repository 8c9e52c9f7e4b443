"""The functions of Python for the verbs: the command's options, tables in memory, and what they return."""

import inspect
import json
import os
import re
import runpy
import warnings

import airrvec
from airrvec.app import cli, verb_options
from airrvec.core import runtime, schema, tables
from airrvec.core.errors import InputError
from airrvec.core.settings import SETTINGS, checked
from airrvec.model.tokens import tokenise

import anndata
import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import DATA, ROOT

DEMO = ROOT / "assets/demo"
FLU = [DEMO / f"donors/flu_{number}.csv" for number in (1, 4)]
FUNCTIONS = [verb for verb in verb_options.SETTINGS_OF_VERBS if verb != "normalise"]
# Of the command alone: its tables, and the place of what Python returns. Of Python alone: of AnnData.
OF_FILES = {"help", "tables", "compare", "out", "outdir", "overwrite"}
OF_FILES |= {"format", "column_map", "failed_samples"}
OF_MEMORY = {"data", "receptors", "queries", "references", "outdir", "prefix", "columns", "copy", "overwrite"}
QUICK = {"background_receptors": 3000, "calibrations": "none", "threads": 1}


def options(verb: str) -> set[str]:
    verbs = next(action for action in cli.parser()._actions if action.dest == "verb").choices
    return {action.dest for action in verbs[verb]._actions}


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_arguments_are_the_options_of_the_command(verb):
    parameters = {*inspect.signature(getattr(airrvec, verb)).parameters}
    in_command = options(verb) - OF_FILES
    if verb in ("embed", "nearest"):  # of tables that `read` reads
        in_command -= {"species", "multichain", "references"}
    assert parameters - OF_MEMORY - OF_FILES == in_command - OF_MEMORY


@pytest.mark.parametrize("verb", [*FUNCTIONS, "read", "find"])
def test_defaults_are_those_of_the_settings(verb):
    for name, parameter in inspect.signature(getattr(airrvec, verb)).parameters.items():
        if name in SETTINGS and (verb, name) != ("find", "model"):  # that of the index
            setting = SETTINGS[name]
            assert parameter.default == (False if setting.type is bool else setting.default), name


def test_the_table_of_verbs_is_that_of_today():
    page = (ROOT / "docs/reference/interfaces.md").read_text()
    written = runpy.run_path(str(ROOT / "docs/interfaces.py"))
    assert written["problems"]() == []
    assert written["with_table"](page) == page  # else: make generated
    exported = re.findall(
        r"^export(?:Methods)?\((.+)\)$", (ROOT / "airrvecr/NAMESPACE").read_text(), re.MULTILINE
    )
    assert {name for _, _, names in written["ROWS"].values() for name in names} <= {*exported}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cluster_chance", 0.001, "cluster_chance: 0.001 is less than 0.002"),
        ("cluster_method", "louvain", "cluster_method is 'louvain', and must be leiden or components"),
        ("seed", "7", "seed is '7', and must be a whole number"),
        ("benchmark_splits", True, "benchmark_splits is True, and must be a whole number"),
        ("compare_by", 3, "compare_by is 3, and must be text"),
    ],
)
def test_wrong_settings_are_sentences(name, value, message):
    with pytest.raises(InputError, match=message):
        checked(name, value)


def test_lists_are_words_with_commas():
    assert checked("encoders", ["sceptr", "tcrdist"]) == "sceptr,tcrdist"
    assert checked("benchmark_k", [1, 10]) == "1,10"
    assert checked("benchmark_k", 5) == "5"


@pytest.mark.parametrize("function", ["embed", "clones", "nearest"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "is an int, and must be a path|are an int, not a DataFrame"),
        ({}, "is empty"),
        ([], "is a list, and must be a path"),
        ({"a": None}, "'a', is None"),
        (anndata.AnnData(np.zeros((2, 2))), r"the AnnData has no chains in obsm\['airr'\]"),
    ],
)
def test_what_is_no_table_is_named(function, data, message):
    arguments = (data, data) if function == "nearest" else (data,)
    with pytest.raises(InputError, match=message):
        getattr(airrvec, function)(*arguments)


def test_genes_stand_beside_calls():
    frame = airrvec.read(FLU[1])
    assert {"TRBV19"} < {*frame["trb_v_gene"]}
    assert not frame["trb_v_gene"].str.contains("*", regex=False).any()
    assert (frame["trb_v_call"].str.partition("*")[0] == frame["trb_v_gene"]).all()


def test_several_tables_and_a_samplesheet_are_read_as_one(tmp_path):
    (tmp_path / "s.csv").write_text(f"sample,path,donor\na,{FLU[0]},x\nb,{FLU[1]},y\n")
    frame = airrvec.read(tmp_path / "s.csv")
    assert frame.groupby("sample_id")["donor"].first().to_dict() == {"a": "x", "b": "y"}
    assert frame.attrs["counts"].keys() == {"a", "b"}
    assert len(airrvec.read(FLU)) == len(frame)


@pytest.fixture(scope="module")
def counted():
    return airrvec.clones(FLU, clone_by="aa", threads=1)


@pytest.mark.parametrize("kind", ["pandas", "one table", "arrow", "polars"])
def test_tables_in_memory_are_counted_as_files(kind, counted):
    """With the donor that is a column of the table."""
    frames = {path.stem.split(".")[0]: airrvec.read(path).assign(donor="d") for path in FLU}
    data = pd.concat(frames.values()) if kind != "pandas" else frames
    if kind == "arrow":
        data = pa.Table.from_pandas(data)
    if kind == "polars":
        data = pytest.importorskip("polars").from_arrow(pa.Table.from_pandas(data))
    clones = airrvec.clones(data, clone_by="aa", threads=1)
    assert set(clones.clones["donor"]) == {"d"}
    assert len(clones.members) == len(counted.members)
    assert clones.members["cell_id"].tolist() == counted.members["cell_id"].tolist()
    assert clones.counts["n_cells"].sum() == counted.counts["n_cells"].sum()


def test_the_command_writes_what_python_returns(counted, tmp_path):
    cli.main(
        ["clones", *map(str, FLU), "--clone-by", "aa", "--threads", "1", "--outdir", str(tmp_path / "a")]
    )
    airrvec.clones(FLU, clone_by="aa", threads=1, outdir=tmp_path / "b")
    for name in ("clones", "counts", "members", "samples"):
        written = tables.read(tmp_path / f"a/{name}.parquet")
        assert written.equals(tables.read(tmp_path / f"b/{name}.parquet"))
        assert len(getattr(counted, name)) == len(written)
    (tmp_path / "b/clones.tsv").write_text("mine")
    with pytest.raises(InputError, match="has been changed since airrvec wrote it"):
        airrvec.clones(FLU, clone_by="aa", outdir=tmp_path / "b")


@pytest.mark.parametrize("kind", ["dict", "path"])
def test_a_column_map_is_of_files(kind, tmp_path):
    columns = json.loads((DEMO / "other_donors.json").read_text())
    given = columns if kind == "dict" else str(DEMO / "other_donors.json")
    counted = airrvec.clones(DEMO / "other_donors.csv", column_map=given, threads=1)
    expected = airrvec.read(DEMO / "other_donors.csv", column_map=columns)
    assert len(counted.members) == len(expected)
    with pytest.raises(InputError, match="format and column_map are of files, and the input is in memory"):
        airrvec.clones(expected, column_map=given)
    with pytest.raises(InputError, match="hla is 3, and must be text"):
        airrvec.annotate(expected, expected, hla=3)


def test_clonotypes_keep_their_counts():
    frame = pd.DataFrame(
        {"trb_v_call": ["TRBV19", "TRBV5-1"], "trb_junction_aa": ["CASSIRSSYEQYF", "CASSLGQAYEQYF"]}
    ).assign(duplicate_count=[30, 12])
    counts = airrvec.clones(frame, threads=1).counts
    assert counts["n_cells"].tolist() == [30, 12]
    assert set(counts["count_unit"]) == {"copies"}


def test_threads_are_those_of_before():
    runtime.limit_threads(2)
    before = pa.cpu_count(), os.environ["OMP_NUM_THREADS"]
    airrvec.clones(FLU[0], threads=1)
    assert (pa.cpu_count(), os.environ["OMP_NUM_THREADS"]) == before


# --- AnnData and MuData


def cells_with_chains(frame: pd.DataFrame) -> anndata.AnnData:
    """Cells of scirpy with the chains of a wide table, and one cell without chains."""
    chains = [
        [
            {
                "locus": locus,
                "v_call": row[f"{locus.lower()}_v_call"],
                "j_call": row[f"{locus.lower()}_j_call"],
                "junction_aa": row[f"{locus.lower()}_junction_aa"],
                "productive": True,
            }
            for locus in schema.LOCI
        ]
        for _, row in frame.iterrows()
    ]
    obs = pd.DataFrame({"call": "mine"}, [*frame["cell_id"], "empty"])
    return anndata.AnnData(obs=obs, obsm={"airr": ak.Array([*chains, []])})


@pytest.fixture
def cells():
    return cells_with_chains(airrvec.read(FLU[1]))


@pytest.mark.filterwarnings("ignore")
def test_vectors_are_written_into_anndata(cells, tmp_path):
    expected = airrvec.embed(airrvec.read(FLU[1])).filter(like="dim_")
    assert airrvec.embed(cells, threads=1) is None
    np.testing.assert_allclose(cells.obsm["X_sceptr"][:-1], expected, atol=1e-6)
    assert np.isnan(cells.obsm["X_sceptr"][-1]).all()
    about = cells.uns["airrvec"]
    assert (about["model"], about["dimensions"], about["device"]) == ("sceptr", 64, "cpu")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    hits = airrvec.nearest(again, cells, k=1)
    assert (hits["query"] == hits["reference"]).mean() > 0.9  # some cells have one receptor
    copied = airrvec.embed(cells, model="sceptr_tiny", copy=True)
    assert "X_sceptr_tiny" in copied.obsm
    assert "X_sceptr_tiny" not in cells.obsm
    assert set(copied.uns["airrvec"]["models"]) == {"sceptr", "sceptr_tiny"}
    copied.write_h5ad(tmp_path / "copied.h5ad")
    for model in ("sceptr", "sceptr_tiny"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of vectors that do not name their model
            airrvec.nearest(anndata.read_h5ad(tmp_path / "copied.h5ad"), copied, k=1, model=model)


@pytest.mark.filterwarnings("ignore")
def test_the_modality_of_mudata_with_chains_gets_the_vectors(cells):
    mudata = pytest.importorskip("mudata")
    expression = anndata.AnnData(np.zeros((len(cells), 2)), obs=pd.DataFrame(index=cells.obs_names))
    both = mudata.MuData({"gex": expression, "airr": cells})
    assert airrvec.embed(both) is None
    assert both["airr"].obsm["X_sceptr"].shape == (len(cells), 64)


@pytest.mark.filterwarnings("ignore")
def test_calls_are_written_into_obs(cells, tmp_path):
    known = airrvec.read(
        DEMO / "other_donors.csv", column_map=json.loads((DEMO / "other_donors.json").read_text())
    )
    frame = airrvec.read(FLU[1]).set_index("cell_id", drop=False)
    calls = airrvec.annotate(frame, known, epitopes=["M1"], **QUICK)
    called = calls[calls["call"] == "called"]
    np.testing.assert_allclose(called["score_M1"], called["score"], rtol=1e-9)
    assert calls.index.tolist() == frame.index.tolist()
    assert (calls["call"] == "called").sum() >= 10
    assert set(calls.loc[calls["call"] == "called", "epitope"]) == {"M1"}
    assert airrvec.annotate(cells, known, columns=["call", "epitope", "fdr"], **QUICK) is None
    assert list(cells.obs) == ["call", "airrvec_call", "airrvec_epitope", "airrvec_fdr"]
    assert cells.obs["airrvec_call"].astype(object).tolist()[:-1] == calls["call"].tolist()
    assert cells.obs["airrvec_call"].isna().iloc[-1]
    assert set(cells.obs["call"]) == {"mine"}
    cells.write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(InputError, match="obs has the column 'airrvec_call' already"):
        airrvec.annotate(cells, known)
    with pytest.raises(InputError, match="the calls have no column 'cal'"):
        airrvec.annotate(cells, known, columns=["cal"])


def test_real_cells_of_scirpy_are_read():
    cells = anndata.read_h5ad(DATA / "scirpy.h5ad")
    with pytest.warns(UserWarning, match="3 of 6 rows have no vector"):
        airrvec.embed(cells)
    frame = airrvec.embed(airrvec.read(DATA / "scirpy.h5ad")).filter(like="dim_")
    vectors = cells.obsm["X_sceptr"]
    np.testing.assert_allclose(vectors[~np.isnan(vectors[:, 0])], frame, atol=1e-6)


def test_trained_models_are_folders_that_embed_takes(tmp_path, capsys):
    """Of tables in memory; the checkpoints are beside them."""
    known = airrvec.read(DEMO / "dash_human.csv")
    few = {"train_steps": 2, "finetune_split": "random", "finetune_min_receptors": 50, "threads": 1}
    model = airrvec.finetune(known, outdir=tmp_path / "tuned", name="mine", checkpoint_every=1, **few)
    assert model == tmp_path / "tuned/mine"
    assert (tmp_path / "tuned/checkpoints/mine").is_dir()
    said = capsys.readouterr().err.splitlines()
    table = said.index("AUROC of mine, fine-tuned from SCEPTR, on held-out receptors (mean of 3 epitopes)")
    assert re.fullmatch(
        r"all test receptors +contrast with the other epitopes +0\.\d{3} +0\.\d{3}", said[table + 2]
    )
    assert said[-1] == f"model: {model}"
    assert airrvec.embed(known.head(3), model=model).attrs["airrvec"]["model"] == "mine"
    few = {"train_steps": 2, "train_batch_size": 64, "threads": 1}
    model = airrvec.pretrain(known, preset="tiny", outdir=tmp_path / "new", **few)
    assert airrvec.embed(known.head(3), model=model).shape == (3, 17)
    with pytest.raises(InputError, match="pre-training takes tables or a number of synthetic receptors"):
        airrvec.pretrain(known, synthetic_receptors=10, outdir=tmp_path / "new")


def test_scores_of_the_benchmark_are_returned_on_request():
    known = airrvec.read(DEMO / "dash_human.csv")
    few = {"benchmark_k": 5, "benchmark_splits": 2, "benchmark_min_positives": 50, "threads": 1}
    measured = airrvec.benchmark(known, encoders=["cdr3_levenshtein"], benchmark_scores=True, **few)
    assert measured.scores["receptor_id"].isin(measured.benchmark_receptors["receptor_id"]).all()
    assert len(measured.splits) == 3 * 2 * 5  # epitopes, splits, k
    assert airrvec.benchmark(known, encoders="cdr3_levenshtein", **few).scores is None


@pytest.mark.parametrize("verb", ["read", "embed", "clones", "annotate", "cluster"])
def test_a_missing_file_is_said_to_be_missing(verb):
    arguments = ("no.csv", FLU[0]) if verb == "annotate" else ("no.csv",)
    with pytest.raises(InputError, match=r"no\.csv: there is no such file"):
        getattr(airrvec, verb)(*arguments)


def test_find_and_match_name_what_they_cannot_take():
    with pytest.raises(InputError, match="queries is an int, and must be a path"):
        airrvec.find(3, "index")
    with pytest.raises(InputError, match="cells is a str, and must be a DataFrame with cell_id"):
        airrvec.match_barcodes(["AAACCTGAGAGTGAGA"], "cells.parquet")
    with pytest.raises(InputError, match=r"the receptors are a DataFrame, and must be a pyarrow\.Table"):
        tokenise(pd.DataFrame())
    with pytest.raises(InputError, match="path is a DataFrame, and must be a path"):
        airrvec.read(pd.DataFrame())
    with pytest.raises(InputError, match="reference is an int, and must be a path"):
        airrvec.annotate(FLU[0], 3)
    with pytest.raises(InputError, match="pre-training takes tables or a number of synthetic receptors"):
        airrvec.pretrain()
    with pytest.raises(InputError, match="'nowhere' is neither a JSON file nor one of alpha"):
        airrvec.finetune(FLU[0], finetune_preset="nowhere")


def test_a_table_with_too_few_receptors_is_not_measured():
    with pytest.raises(InputError, match="no epitope has enough receptors"):
        airrvec.benchmark(airrvec.read(FLU[1]), encoders="cdr3_levenshtein", threads=1)


@pytest.mark.parametrize("n", [1, 2])
def test_references_in_memory_are_merged(n):
    """As files are: `reference` names its sources by the keys of a dict."""
    known = airrvec.read(DEMO / "dash_human.csv")
    merged = airrvec.reference({f"t{part}": known.iloc[part::n] for part in range(n)})
    assert len(merged.merged) == len(airrvec.reference(DEMO / "dash_human.csv").merged)
    assert merged.sources["source"].tolist() == [f"t{part}" for part in range(n)]
