"""Clones and clusters of a donor followed from one value of a column to the next."""

import dataclasses
import json

from airrvec.core import schema, tables
from airrvec.repertoire import clone_table, following
from airrvec.repertoire.following import Step, replicates, steps
from airrvec.report.sections import conditions
from airrvec.stats.significance import benjamini_hochberg

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

SHEET = pd.DataFrame(
    [
        ("a1", "A", "10"),
        ("a0", "A", "2"),
        ("a0b", "A", "2"),
        ("b0", "B", "2"),
        ("b2", "B", "30"),
        ("c", "C", "2"),
        ("d", "D", None),
    ],
    columns=["sample_id", "donor", "day"],
).set_index("sample_id")
# Cells of each clone of A and B.
COUNTS = {
    "a0": {"c1": 40, "c2": 10, "c3": 1, "c4": 0, "c5": 149},
    "a0b": {"c1": 44, "c2": 12, "c3": 0, "c4": 0, "c5": 144},
    "a1": {"c1": 40, "c2": 90, "c3": 1, "c4": 12, "c5": 257},
    "b0": {"c6": 30, "c7": 70},
    "b2": {"c6": 5, "c8": 95},
}
CLUSTERS = {"c1": "one", "c2": "one", "c6": "two", "c8": "two"}


def followed(folder, units=None, chains=None, counts=COUNTS) -> tuple[pa.Table, pa.Table]:
    """Write clones and their counts, and follow them."""
    rows = [
        {"clone_id": clone, "sample_id": sample, "n_cells": n}
        | {"count_unit": (units or {}).get(sample, "cells")}
        for sample, cells in counts.items()
        for clone, n in cells.items()
        if n
    ]
    names = sorted({row["clone_id"] for row in rows})
    clones = [
        {
            "clone_id": name,
            "chains": (chains or {}).get(name, "paired"),
            "trb_junction_aa": f"CASS{name[1:]}F",
            "cluster_id": CLUSTERS.get(name),
        }
        for name in names
    ]
    for table, columns, name in ((rows, schema.CLONE_COUNTS, "counts"), (clones, schema.CLONES, "clones")):
        frame = pd.DataFrame(table).reindex(columns=columns.names)
        tables.write(pa.Table.from_pandas(frame, columns, preserve_index=False), folder / f"{name}.parquet")
    clones = folder / "clones.parquet"
    counted = clone_table.counted_clones(duckdb.connect(), folder / "counts.parquet", clones)
    return following.followed(following.Counted(counted), SHEET, "day", clones)


def test_steps_are_in_the_order_of_numbers_and_of_a_donor():
    assert steps(SHEET, "day") == [
        Step("A", "2", "10", (("a0", "a0b"), ("a1",))),
        Step("B", "2", "30", (("b0",), ("b2",))),
    ]
    words = SHEET.assign(day=SHEET["day"].map({"10": "after", "2": "before", "30": "later"}))
    made = [(one.before, one.after) for one in steps(words, "day")]
    assert made == [("after", "before"), ("before", "later")]
    assert replicates(SHEET, "day") == [("a0", "a0b")]


def test_what_changed_is_what_scipy_says(tmp_path):
    table, changes = followed(tmp_path)
    assert table.schema == schema.STEPS
    assert changes.schema == schema.CHANGES
    rows = {(row["kind"], row["donor"]): row for row in table.to_pylist()}
    step = rows["clone", "A"]
    assert (step["n_before"], step["n_after"], step["samples_before"]) == (400, 400, "a0;a0b")
    assert (step["noise"], step["copies"], step["dispersion"]) == ("sampling", 1, 0)  # 5 clones are too few
    clones = [row for row in changes.to_pylist() if row["kind"] == "clone"]
    found = {row["feature"]: row for row in clones if row["donor"] == "A"}
    assert {name: row["change"] for name, row in found.items()} == {
        "c1": "contracted", "c2": "expanded", "c3": "persistent", "c4": "new", "c5": "persistent",
    }  # fmt: skip
    p = [min(1, 2 * min(stats.binom.cdf(k, n, 0.5), stats.binom.sf(k - 1, n, 0.5))) for k, n in
         ((40, 124), (90, 112), (12, 12), (257, 550))]  # fmt: skip
    names = ("c1", "c2", "c4", "c5")
    assert np.allclose([found[name]["p"] for name in names], p, rtol=1e-3)
    assert np.allclose([found[name]["fdr"] for name in names], benjamini_hochberg(np.array(p)), rtol=1e-3)
    assert found["c3"]["p"] is None
    assert found["c2"]["fold_change"] == 90 / 22
    assert found["c2"]["fold_low"] < 90 / 22 < found["c2"]["fold_high"]
    assert found["c4"]["fold_change"] is found["c4"]["fold_high"] is None
    assert found["c2"]["trb_junction_aa"] == "CASS2F"
    numbers = ("n_tested", "n_expanded", "n_new", "n_contracted", "n_lost", "n_persistent", "n_undecided")
    assert [step[name] for name in numbers] == [4, 1, 1, 1, 0, 2, 0]


def test_clusters_are_followed_as_sums_of_clones(tmp_path):
    _, changes = followed(tmp_path)
    clusters = {row["feature"]: row for row in changes.to_pylist() if row["kind"] == "cluster"}
    assert (clusters["one"]["n_before"], clusters["one"]["n_after"]) == (106, 130)
    assert (clusters["two"]["n_before"], clusters["two"]["n_after"]) == (30, 100)
    assert clusters["two"]["change"] == "expanded"
    assert clusters["two"]["trb_junction_aa"] is None
    lost = {row["feature"]: row["change"] for row in changes.to_pylist() if row["donor"] == "B"}
    assert (lost["c7"], lost["c8"]) == ("lost", "new")


@pytest.mark.parametrize(
    ("units", "chains", "reason"),
    [
        ({"b2": "reads"}, {}, "its samples count cells and reads"),
        ({}, {"c8": "beta"}, "its samples are mostly of beta and paired"),
    ],
)
def test_samples_that_cannot_be_compared_say_why(tmp_path, units, chains, reason):
    table, changes = followed(tmp_path, units, chains)
    rows = {(row["kind"], row["donor"]): row for row in table.to_pylist()}
    assert rows["clone", "B"]["reason"] == reason
    assert rows["clone", "B"]["n_tested"] is None
    assert rows["clone", "A"]["reason"] is None
    assert {row["donor"] for row in changes.to_pylist()} == {"A"}


def test_replicates_of_the_run_give_the_noise(tmp_path):
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(200))
    names = [f"c{number}" for number in range(200)]
    counts = {
        sample: dict(zip(names, rng.poisson(shares * rng.gamma(4, 0.25, 200) * 9000).tolist(), strict=True))
        for sample in COUNTS
    }
    table, _ = followed(tmp_path, counts=counts)
    clones = [row for row in table.to_pylist() if row["kind"] == "clone"]
    assert {row["noise"] for row in clones} == {"replicates"}
    assert all(0.15 < row["dispersion"] < 0.4 for row in clones)
    assert sum(row["n_expanded"] + row["n_contracted"] for row in clones) <= 2


def test_the_report_shows_what_changed(tmp_path):
    table, changes = followed(tmp_path, {"b2": "reads"})
    results = conditions.Conditions(
        {"condition": "day"}, None, None, {"one": "CASS1F"}, table.to_pandas(), changes.to_pandas(), None
    )
    made = conditions._changes(results)
    assert "A, 2 → 10, clones: 1 expanded, 1 new, 1 contracted, 0 lost; 4 tested" in made["description"]
    assert "B, 2 → 30, clones: not tested, its samples count cells and reads." in made["description"]
    rows = list(made["data"].values())
    assert [row["change"] for row in rows] == ["expanded", "contracted", "new"]
    assert rows[0]["n_before"] == 22
    json.dumps(made)
    nothing = dataclasses.replace(results, changes=changes.to_pandas().iloc[:0])
    assert conditions._changes(nothing)["plot_type"] == "html"
