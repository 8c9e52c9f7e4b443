"""
`EXPORT_SCE` and docs/guides/r.md in a real R.

Where an Rscript with their packages is on the path, in that one; else in the image of containers/r,
made if it is missing.
"""

import csv
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from airrvec.core import tables
from airrvec.core.vectors import read_receptor_rows
from airrvec.input import cells

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pipeline_runs import ROOT, run_pipeline
from r_code import BOUND, DUMP, MATCHED, WITHOUT_ARROW

sys.path += [str(ROOT / "tests/containers"), str(ROOT / "tests/unit")]
from barcode_cases import CASES
from barcode_files import read_results, write_cases
from cells_for_export import BETA_ALONE, METADATA, PAIR, VECTORS, cells_table, write_inputs
from engines import must

SCRIPT = ROOT / "bin" / "export_sce.R"
VIGNETTE = ROOT / "docs/guides/r.md"
SHEET = pd.read_csv(ROOT / "assets/demo/samplesheet.csv")
OF_SHEET = sorted(SHEET.loc[SHEET["role"].isna(), "sample"])
SAMPLES = {"pbmc": ["pbmc"], "labelled": ["labelled"], "all_samples": OF_SHEET}


def opened(rscript, folder: Path, rds: Path) -> tuple[np.ndarray, pd.DataFrame, list[str]]:
    """Vectors, colData and what R prints of an object, by an R without arrow."""
    (folder / "without_arrow.R").write_text(WITHOUT_ARROW)
    (folder / "dump.R").write_text(DUMP)
    shutil.copy(rds, folder / "x.rds")
    done = rscript(folder, "without_arrow.R", "dump.R", "x.rds", "dump")
    assert done.returncode == 0, done.stderr
    n_cells, n_dimensions, *said = done.stdout.splitlines()
    vectors = np.fromfile(folder / "dump.bin").reshape(int(n_dimensions), int(n_cells)).T
    with (folder / "dump.tsv").open(newline="", encoding="utf-8") as handle:
        header, *rows = csv.reader(handle, delimiter="\t")
    frame = pd.DataFrame(
        [[None if value == "\\N" else value for value in row] for row in rows], columns=header
    )
    return vectors, frame, said


def assert_vectors(vectors: np.ndarray, expected: np.ndarray) -> None:
    """The float32 values themselves; NaN stands for R's NA."""
    assert expected.dtype == np.float32
    np.testing.assert_array_equal(vectors, expected.astype(np.float64))


def words(table: pa.Table) -> dict[str, list]:
    return {name: [_word(value) for value in table[name].to_pylist()] for name in table.column_names}


def _word(value) -> str | None:
    """A value as R writes it."""
    if isinstance(value, bool):
        return str(value).upper()
    return None if value is None else str(value)


def export(rscript, folder: Path, arguments: list[str], *tables_of_cells: Path, **options):
    """Make an object by an R without arrow; ``arguments``: receptors and embeddings for `DESCRIBE_CELLS`."""
    columns = folder / "columns.bin"
    outputs = ("--columns", columns, "--out", folder / "description.parquet")
    must(sys.executable, ROOT / "bin/describe_cells.py", *tables_of_cells, *arguments, *outputs)
    (folder / "without_arrow.R").write_text(WITHOUT_ARROW)
    return rscript(folder, "without_arrow.R", SCRIPT, columns, "--out", folder / "out.rds", **options)


def calls_of(results: Path, samples: list[str]) -> dict[str, list]:
    """Column → calls of the samples' cells; epitope and rates only where the receptor is called."""
    paths = [results / f"annotation/{sample}.parquet" for sample in samples]
    names = ("epitope", "antigen_species", "mhc_a", "probability", "fdr")
    if not all(path.exists() for path in paths):  # the labelled table
        n = sum(len(tables.read(results / f"cells/{sample}.parquet", ["sample_id"])) for sample in samples)
        return dict.fromkeys(("call", "exact_epitope", *(f"call_{name}" for name in names)), [None] * n)
    calls = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
    columns = {name: calls[name] for name in ("call", "exact_epitope")}
    columns |= {f"call_{name}": calls[name].where(calls["call"] == "called") for name in names}
    return {
        name: values.astype(object).where(values.notna(), None).tolist() for name, values in columns.items()
    }


def clones_of(results: Path, samples: list[str]) -> dict[str, pa.Array]:
    """Clone of each cell, and its cells in the sample; null in the labelled table."""
    members, counts = (pd.read_parquet(results / f"clones/{name}.parquet") for name in ("members", "counts"))
    row = pd.Series(samples).groupby(samples).cumcount() + 1
    cells_of_run = pd.DataFrame({"sample_id": samples, "cell_row": row})
    known = cells_of_run.merge(members, how="left", on=["sample_id", "cell_row"])
    known = known.merge(counts, how="left", on=["sample_id", "clone_id"])
    sizes = pa.array(known["n_cells"].astype("Int64"), pa.int64(), from_pandas=True)
    return {"clone_id": pa.array(known["clone_id"], pa.string(), from_pandas=True), "clone_size": sizes}


def counted(results: Path, of_cells: pa.Table) -> list[str]:
    """Receptor with which each cell counts, which is that of its call; in the labelled table its own."""
    ids: list[str] = []
    for sample in dict.fromkeys(of_cells["sample_id"].to_pylist()):
        path = results / f"annotation/{sample}.parquet"
        path = path if path.exists() else results / f"cells/{sample}.parquet"
        ids += tables.read(path, ["receptor_id"])["receptor_id"].to_pylist()
    return ids


def clusters_of(results: Path, receptor_ids: list[str]) -> dict[str, list]:
    members = pd.read_parquet(results / "clusters/members.parquet").dropna(subset="cluster_id")
    cluster = dict(zip(members["receptor_id"], members["cluster_id"], strict=True))
    sizes = Counter(members["cluster_id"])
    ids = [cluster.get(receptor) for receptor in receptor_ids]
    return {"cluster_id": ids, "cluster_size": [id and str(sizes[id]) for id in ids]}


@pytest.mark.parametrize("name", SAMPLES)
def test_object_of_a_run_is_its_tables(name, demo, rscript, tmp_path):
    results = demo / "results/demo"
    vectors, frame, said = opened(rscript, tmp_path, results / f"r/{name}.rds")
    of_cells = pa.concat_tables(tables.read(results / f"cells/{sample}.parquet") for sample in SAMPLES[name])
    ids = of_cells["receptor_id"]
    receptors = read_receptor_rows(results / "receptors", ids)
    for column, values in clones_of(results, of_cells["sample_id"].to_pylist()).items():
        receptors = receptors.append_column(column, values)
    expected = cells.join_receptors(of_cells, receptors)
    found = {**calls_of(results, SAMPLES[name]), **clusters_of(results, counted(results, of_cells))}
    for column in ("call_probability", "call_fdr"):
        if column in found:
            np.testing.assert_allclose(frame.pop(column).astype(float), np.array(found.pop(column), float))
    assert frame.drop(columns="colname").to_dict("list") == {**words(expected), **found}
    assert len(frame) > 400
    embeddings = read_receptor_rows(results / "embeddings", ids).drop_columns("receptor_id")
    assert_vectors(vectors, np.stack([column.to_numpy() for column in embeddings.columns], axis=1))
    metadata = tables.metadata(results / "embeddings")
    assert said == ["dim_01", *(metadata[key] for key in METADATA)]


def test_objects_of_samples_and_of_labelled_receptors_bind(demo, rscript):
    (demo / "bind.R").write_text(BOUND)
    done = rscript(demo, "bind.R", *(demo / f"results/demo/r/{name}.rds" for name in ("pbmc", "labelled")))
    assert done.returncode == 0, done.stderr


def test_partitions_make_the_same_object(demo, rscript, tmp_path):
    results = demo / "results/demo"
    shutil.copy(results / "cells/pbmc.parquet", tmp_path)
    for kind, name in (("receptors", "receptors"), ("embeddings", "sceptr")):
        path = results / kind / f"{name}.parquet"
        whole, metadata = tables.read(path), tables.metadata(path)
        for number, first in enumerate((0, 500, 1200)):
            part = whole.slice(first, (500, 700, None)[number])
            tables.write(part, tmp_path / kind / f"{name}_{number:04d}.parquet", metadata)
    arguments = ["--receptors", tmp_path / "receptors", "--embeddings", tmp_path / "embeddings"]
    arguments += ["--annotation", results / "annotation/pbmc.parquet"]
    arguments += ["--members", results / "clusters/members.parquet", "--clones", results / "clones"]
    done = export(rscript, tmp_path, arguments, tmp_path / "pbmc.parquet")
    assert done.returncode == 0, done.stderr
    vectors, frame, said = opened(rscript, tmp_path, tmp_path / "out.rds")
    expected_vectors, expected_frame, expected_said = opened(rscript, tmp_path, results / "r/pbmc.rds")
    np.testing.assert_array_equal(vectors, expected_vectors)
    pd.testing.assert_frame_equal(frame, expected_frame)
    assert said == expected_said


def test_combined_object_of_samples_that_differ(rscript, tmp_path):
    """Other metadata, barcodes that are no ASCII, repeated or missing, large counts, no vector."""
    first = cells_table(
        [
            {"cell_id": "zellé", "receptor_id": PAIR, "duplicate_count": 5 * 10**12, "umi_count": 1},
            {"cell_id": "細胞-1", "receptor_id": BETA_ALONE},
            {"cell_id": "細胞-1", "receptor_id": PAIR},
            {"cell_id": None, "receptor_id": PAIR},
        ],
        {"n_samples": ["mine"] * 4, "batch": ["NA", "1", "", "\t\"q\" 'x'"], "name": ["n"] * 4},
    )
    second = cells_table([{"cell_id": "b_c", "receptor_id": PAIR, "duplicate_count": 3}], {"dose/day": ["ü"]})
    third = cells_table([{"cell_id": "c", "receptor_id": PAIR}])
    arguments = write_inputs(tmp_path, first)[2:]
    parts = [tmp_path / "s.cells.parquet"]
    for sample, table in (("a", second), ("a_b", third), ("empty", second.slice(0, 0))):
        table = table.set_column(0, "sample_id", pa.array([sample] * len(table), pa.string()))
        parts.append(tmp_path / f"{sample}.cells.parquet")
        tables.write(table, parts[-1])
    # Tasks may have no locale at all.
    done = export(rscript, tmp_path, arguments, *parts, locale="C")
    assert done.returncode == 0, done.stderr
    vectors, frame, _ = opened(rscript, tmp_path, tmp_path / "out.rds")
    assert_vectors(vectors, VECTORS[[0, 2, 0, 0, 0, 0]])
    assert list(frame["colname"]) == ["s_zellé", "s_細胞-1", "s_細胞-1_2", "s_4", "a_b_c", "a_b_c_2"]
    assert list(frame["cell_id"]) == ["zellé", "細胞-1", "細胞-1", None, "b_c", "c"]
    assert list(frame["duplicate_count"]) == ["5000000000000", None, None, None, "3", None]
    assert list(frame["n_samples"]) == ["2"] * 6
    assert list(frame["n_samples_sample"]) == ["mine"] * 4 + [None] * 2
    assert list(frame["batch"])[:4] == ["NA", "1", "", "\t\"q\" 'x'"]
    assert list(frame["name"]) == ["n"] * 4 + [None] * 2
    assert list(frame["dose/day"]) == [None] * 4 + ["ü", None]


def test_sample_without_cells(rscript, tmp_path):
    arguments = write_inputs(tmp_path, cells_table([], {"tissue": []}))[2:]
    done = export(rscript, tmp_path, arguments, tmp_path / "s.cells.parquet")
    assert done.returncode == 0, done.stderr
    vectors, frame, _ = opened(rscript, tmp_path, tmp_path / "out.rds")
    assert vectors.shape == (0, 3)
    assert len(frame) == 0
    assert "tissue" in frame


def test_mistakes_are_said_in_one_sentence(rscript, tmp_path):
    arguments = write_inputs(tmp_path, cells_table([{"receptor_id": PAIR}]))[2:]
    assert export(rscript, tmp_path, arguments, tmp_path / "s.cells.parquet").returncode == 0
    whole = (tmp_path / "columns.bin").read_bytes()
    (tmp_path / "out.rds").unlink()
    for content, problem in (
        (whole[:-9], "is incomplete"),
        (b"x" + whole, "is not a file of describe_cells"),
    ):
        (tmp_path / "cut.bin").write_bytes(content)
        done = rscript(tmp_path, SCRIPT, "cut.bin", "--out", "out.rds")
        assert done.returncode == 1
        assert re.search(rf"^ERROR: cut.bin {problem}.*\n\Z", done.stderr, re.MULTILINE)
        assert not (tmp_path / "out.rds").exists()
    lacking = WITHOUT_ARROW.replace('"arrow"', '"SingleCellExperiment"')
    (tmp_path / "without.R").write_text(lacking)
    done = rscript(tmp_path, "without.R", SCRIPT, "--check")
    assert done.returncode == 1
    message = r"ERROR: R lacks the package\(s\) SingleCellExperiment\. Install them, with .*\n\Z"
    assert re.search(message, done.stderr)


def test_barcodes_are_matched_as_in_python(rscript, tmp_path):
    write_cases(tmp_path)
    (tmp_path / "matched.R").write_text(MATCHED)
    done = rscript(tmp_path, "matched.R", ROOT / "airrvecr/R/match_barcodes.R")
    assert done.returncode == 0, done.stderr
    assert read_results(tmp_path) == {title: names for title, (_, _, names) in CASES.items()}


@pytest.mark.skipif(shutil.which("Rscript") is not None, reason="R is here")
def test_missing_r_is_said_in_one_sentence(tmp_path):
    (tmp_path / "sheet.csv").write_text(f"sample,path\na,{ROOT}/assets/test/pbmc_b.csv\n")
    run = run_pipeline(tmp_path, "--input", "sheet.csv", "--export_sce")
    assert run.status == 1
    assert "ERROR: there is no Rscript. Install R with " in run.output


def test_blocks_of_the_vignette_run_and_print_what_they_say(demo, rscript, package_library):
    blocks = re.findall(r"^```r\n(.*?)^```$", VIGNETTE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 10
    code = "".join(blocks)
    (demo / "vignette.R").write_text(code)
    done = rscript(demo, "vignette.R", library=package_library)
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    promised = re.findall(r"^# (\[1\] .*)$", code, re.MULTILINE)
    assert len(promised) > 5
    # In their order, among what else is printed.
    rest = iter(printed)
    assert [line for line in promised if line not in rest] == []
