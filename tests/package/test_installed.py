"""The command and functions of an installed package, far from a repository; the checkout is the oracle."""

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import airrvec
from airrvec.app import cli

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from conftest import ROOT, uv
from same import differences

DEMO = ROOT / "assets/demo"
TABLES = (
    "dash_human.csv",
    "other_donors.csv",
    "other_donors.json",
    *(f"donors/flu_{n}.csv" for n in (1, 2, 4)),
)
EXTRAS = ("lightning", "multiqc", "torch", "transformers")

# Verb → its arguments, a table that it writes, and the rows of this table.
VERBS = {
    "normalise": ("dash_human.csv --outdir {out}", "dash_human.receptors_0000.parquet", 391),
    "embed": ("dash_human.csv --out {out}/vectors.parquet --threads 1", "vectors.parquet", 391),
    "annotate": (
        "flu_4.csv --reference other_donors.csv --column-map other_donors.json"
        " --background-receptors 3000 --threads 1 --outdir {out}",
        "flu_4.parquet",
        31,
    ),
    "reference": ("dash_human.csv other_donors.csv --outdir {out}", "merged.parquet", 391),
    "clones": ("flu_1.csv flu_2.csv --threads 1 --outdir {out}", "clones.parquet", 68),
    "nearest": (
        "flu_4.csv --references dash_human.csv --k 2 --threads 1 --out {out}/near.parquet",
        "near.parquet",
        62,
    ),
    "cluster": ("flu_1.csv flu_2.csv --threads 1 --outdir {out}", "members.parquet", 68),
    "benchmark": (
        "dash_human.csv --encoders sceptr,tcrdist --benchmark-k 5 --benchmark-splits 2"
        " --benchmark-min-positives 50 --threads 1 --outdir {out}",
        "auroc.parquet",
        48,  # two encoders, three epitopes, two splits, four rules
    ),
}


@pytest.fixture
def tables(tmp_path):
    """Return a folder of small real tables."""
    for name in TABLES:
        shutil.copy(DEMO / name, tmp_path)
    return tmp_path


def test_the_environment_has_the_core_alone(installed):
    packages = uv("pip", "freeze", "--python", installed.bin / "python").splitlines()
    locked = re.findall(r"^[\w.-]+==[\w.+]+", (installed.folder / "locked.txt").read_text(), re.MULTILINE)
    assert [line.split(" @ ")[0] for line in packages if line not in locked] == ["airrvec"]
    assert {line.split("==")[0] for line in packages}.isdisjoint(EXTRAS)
    version = installed.run("airrvec", "--version", cwd=installed.folder)
    assert version.stdout == f"airrvec {airrvec.__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_gives_what_the_checkout_gives(verb, installed, tables, monkeypatch):
    arguments, name, rows = VERBS[verb]
    monkeypatch.chdir(tables)
    with ThreadPoolExecutor() as pool:
        words = arguments.format(out="package").split()
        package = pool.submit(installed.run, "airrvec", verb, *words, cwd=tables)
        cli.main([verb, *arguments.format(out="checkout").split()])
    assert package.result().returncode == 0, package.result().stderr
    assert differences(tables / "package", tables / "checkout") == []
    assert pq.read_metadata(tables / "package" / name).num_rows == rows


def test_the_functions_give_the_reference_vectors(installed, tables):
    """Those of the `sceptr` package, stored; see tests/data/README.md."""
    reference = pd.read_parquet(ROOT / "tests/data/reference_vectors.parquet")
    expected = reference.filter(like="dim_").to_numpy()
    reference.drop(columns=reference.filter(like="dim_").columns).to_parquet(tables / "receptors.parquet")
    shutil.copy(ROOT / "tests/package/notebook.py", tables)
    words = ("dash_human.csv", "receptors.parquet", "vectors.parquet")
    done = installed.run("python", "notebook.py", *words, cwd=tables)
    assert done.returncode == 0, done.stderr
    vectors = pd.read_parquet(tables / "vectors.parquet").filter(like="dim_").to_numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    found = json.loads(done.stdout)
    distances = np.linalg.norm(expected[:, None] - expected, axis=2)
    assert found.pop("nearest") == np.argmin(distances + 9 * np.eye(len(expected)), axis=1).tolist()
    counts = {"cells": 415, "mapped": 92, "members": 415, "rows_in": 415}
    assert found == {**counts, "torch": [], "version": airrvec.__version__}


def test_find_gives_what_the_checkout_gives(installed, tables):
    """In what the package itself normalised and embedded, laid out as the results of a run."""
    results, query, options = tables / "results", "TRBV19 CASSIRSSYEQYF", ("--k", "5", "--threads", "1")
    for words in (
        "normalise dash_human.csv --outdir made",
        "embed dash_human.csv --out made/vectors.parquet",
    ):
        done = installed.run("airrvec", *words.split(), cwd=tables)
        assert done.returncode == 0, done.stderr
    for made, name in (
        ("vectors", "embeddings/sceptr"),
        ("vectors.receptors", "receptors/receptors"),
        ("dash_human.cells", "cells/dash_human"),
    ):
        (results / name).parent.mkdir(parents=True)
        shutil.copy(tables / f"made/{made}.parquet", results / f"{name}.parquet")
    done = installed.run(
        "airrvec", "find", query, "--index", "results", *options, "--out", "package.tsv", cwd=tables
    )
    assert done.returncode == 0, done.stderr
    cli.main(["find", query, "--index", str(results), *options, "--out", str(tables / "checkout.tsv")])
    assert (tables / "package.tsv").read_text() == (tables / "checkout.tsv").read_text()
    call = f"import airrvec; print(airrvec.find({query!r}, 'results', k=5)['receptor_id'].to_list())"
    done = installed.run("python", "-c", call, cwd=tables)
    expected = pd.read_csv(tables / "checkout.tsv", sep="\t")["receptor_id"].to_list()
    assert (done.stdout, len(expected)) == (f"{expected}\n", 5)


def test_fine_tuning_names_the_command_that_adds_its_extra(installed, tables):
    done = installed.run("airrvec", "finetune", "dash_human.csv", "--outdir", "out", cwd=tables)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    assert len(errors) == 1
    assert "pip install 'airrvec[learn]'" in errors[0]


def test_a_type_checker_reads_the_installed_types(installed, tables):
    """It takes them from a package only if that has py.typed."""
    shutil.copy(ROOT / "tests/package/notebook.py", tables)
    (tables / "wrong.py").write_text(
        "import airrvec\n"
        "frame = airrvec.read('x.csv', species='rat')\n"
        "airrvec.embed(frame, device='tpu')\n"
        "airrvec.nearest(frame, frame, k='3')\n"
        "airrvec.nearset(frame, frame)\n"
    )
    (tables / "mypy.ini").write_text("[mypy]\n[mypy-pandas.*,pyarrow.*]\nignore_missing_imports = True\n")
    checker = (sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--python-executable")
    options = {"cwd": tables, "capture_output": True, "text": True}
    done = subprocess.run([*checker, installed.bin / "python", "notebook.py", "wrong.py"], **options)
    lines = re.findall(r"^(\S+?):(\d+): error: ", done.stdout, re.MULTILINE)
    assert lines == [("wrong.py", str(row)) for row in (2, 3, 4, 5)], done.stdout + done.stderr
