"""The analyses: formulas against other implementations and plain loops; scripts from end to end."""

import json
from functools import partial

from airrvec import analyses, encoders
from airrvec.analyses import (
    alignment,
    coincidence,
    complexity,
    edits,
    entropy,
    fine_tuning,
    generation,
    material,
    power_mean,
)
from airrvec.core import schema
from airrvec.core.seeds import generator
from airrvec.evaluation import fewshot

import numpy as np
import pandas as pd
import pyarrow as pa
import pyrepseq
import pytest
import sceptr.variant
import torch
from hypothesis import given
from hypothesis import strategies as st
from inputs import ROOT
from rapidfuzz.distance import Levenshtein
from scipy.stats import pmean
from toy_material import Toy, labelled, of

SCHEMA = json.loads((ROOT / "nextflow_schema.json").read_text())["$defs"]
PAGE = (ROOT / "docs/explanations/analyses.md").read_text()
names = st.lists(st.sampled_from("abcde"), min_size=4, max_size=60)


def test_registry_schema_and_documents_agree():
    properties = SCHEMA["analysis_options"]["properties"]["analyses"]
    assert properties["choices"] == ["none", "all", *analyses.ANALYSES]
    assert properties["scopes"] == {name: analyses.load(name).SCOPE for name in analyses.ANALYSES}


@pytest.mark.parametrize("name", analyses.ANALYSES)
def test_every_column_of_an_analysis_is_documented(name):
    analysis = analyses.load(name)
    assert f"`{name}`" in PAGE
    assert [column for column in analysis.SCHEMA.names if f"`{column}`" not in PAGE] == []


@given(
    st.lists(st.tuples(st.floats(0.5, 400), st.floats(0.5, 400)), min_size=1, max_size=20),
    st.sampled_from([p for p in power_mean.EXPONENTS if np.isfinite(p)]),
)
def test_power_mean_is_scipys(values, exponent):
    a, b = np.array(values).T
    expected = pmean(np.stack([a, b]), exponent, axis=0)
    np.testing.assert_allclose(power_mean.power_mean(a, b, exponent), expected, rtol=1e-9)


def test_power_mean_at_its_limits_and_at_zero():
    a, b = np.array([0.0, 3.0, 0.0]), np.array([4.0, 1.0, 0.0])
    mean = partial(power_mean.power_mean, a, b)
    np.testing.assert_array_equal(mean(-np.inf), [0, 1, 0])
    np.testing.assert_array_equal(mean(np.inf), [4, 3, 0])
    np.testing.assert_array_equal(mean(1), [2, 2, 0])
    for exponent in (-2.0, 0.0):
        np.testing.assert_array_equal(mean(exponent)[[0, 2]], 0)


@given(names)
def test_coincidence_and_entropy_are_pyrepseqs(values):
    p, deviation = entropy.coincidence(np.array(values, object))
    assert p == pytest.approx(pyrepseq.pc(values), abs=1e-12)
    expected = pyrepseq.varpc_n(np.unique(values, return_counts=True)[1])
    assert deviation**2 == pytest.approx(max(expected, 0), abs=1e-12)
    if p:
        frame = pd.DataFrame({"gene": values})
        row = entropy._entropy(np.array(values, object))
        assert row["entropy_bits"] == pytest.approx(pyrepseq.renyi2_entropy(frame, "gene"), abs=1e-12)
        assert row["entropy_std"] == pytest.approx(np.sqrt(max(expected, 0)) / p / np.log(2), abs=1e-12)


def test_entropies_are_correlated_with_auroc():
    chosen = labelled(90)
    chosen.epitopes["C"] = np.arange(10, 40)
    measured = entropy.measure(of(chosen))
    auroc = pd.DataFrame(
        [("x", name, 5, value) for name, value in (("A", 0.9), ("B", 0.8), ("C", 0.6), ("mean", 0.7))],
        columns=["encoder", "epitope", "k", "auroc"],
    )
    found = entropy.conclude(measured, auroc).to_pandas()
    assert len(found) == 18
    of_gene = found[found["feature"] == "trb_v_call"]
    expected = of_gene["entropy_bits"].corr(of_gene["auroc"], method="spearman")
    np.testing.assert_allclose(of_gene["spearman"], expected)
    np.testing.assert_array_equal(of_gene["n_receptors"], [45, 60, 30])


def test_probability_of_coincidence_is_a_plain_count():
    chosen = labelled(30)
    found = coincidence.measure(of(chosen)).to_pandas()
    assert list(found["epitope"].unique()) == ["B", "A"]  # C has one receptor
    whole = encoders.load("tcrdist").distances(chosen.receptors, chosen.receptors)
    within = [whole[i, j] for i in range(15) for j in range(i + 1, 15)]
    sets = [{name for name, rows in chosen.epitopes.items() if row in rows} for row in range(30)]
    background = [whole[i, j] for i in range(30) for j in range(i + 1, 30) if not sets[i] & sets[j]]
    for row in found[found["epitope"] == "A"].itertuples():
        p, q = (np.mean(np.array(values) <= row.tcrdist) for values in (within, background))
        assert (row.n_pairs, row.probability, row.background) == (105, pytest.approx(p), pytest.approx(q))
        assert row.ratio == pytest.approx(p / q) if q else np.isnan(row.ratio)


def test_alignment_and_uniformity_are_the_papers_equations():
    chosen = labelled(40)
    row = alignment.measure(of(chosen, Toy())).to_pylist()[0]
    vectors = Toy().embed(chosen.receptors).astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    i, j = np.triu_indices(40, 1)
    squares = ((vectors[i] - vectors[j]) ** 2).sum(1)
    assert row["uniformity"] == pytest.approx(np.log(np.exp(-squares).mean()))
    assert row["uniformity_t2"] == pytest.approx(np.log(np.exp(-2 * squares).mean()))
    a, b = alignment.positive_pairs(chosen, generator(1, "alignment"))
    assert material.co_specific(chosen, a, b).all()
    assert (a != b).all()
    distances = np.linalg.norm(vectors[a] - vectors[b], axis=1)
    assert row["alignment"] == pytest.approx(distances.mean())
    assert row["alignment_squared"] == pytest.approx((distances**2).mean())


@pytest.mark.parametrize("variant", ["default", "tiny", "blosum", "left_aligned"])
def test_parameters_of_sceptr_are_those_of_the_published_model_without_its_head(variant):
    published = getattr(sceptr.variant, variant)()._bert
    name = "sceptr" if variant == "default" else f"sceptr_{variant}"
    learnt = {id(p): p.numel() for name, p in published.named_parameters() if "mlm" not in name}
    row = complexity.measure(of(labelled(4), encoders.load(name), name=name)).to_pylist()[0]
    assert row["n_parameters"] == sum(learnt.values())


def test_parameters_of_torch_modules_are_counted_once_and_where_they_are():
    layer = torch.nn.Linear(3, 5)
    toy = Toy()
    assert complexity.n_parameters(toy) == 0
    toy.layers, toy.again, toy.by_name = [layer, torch.nn.Linear(2, 2)], layer, {"a": layer}
    assert complexity.n_parameters(toy) == (3 * 5 + 5) + (2 * 2 + 2)
    toy.n_parameters = 7
    assert complexity.n_parameters(toy) == 7


@given(
    st.text("ACDEFGHIKLMNPQRSTVWY", min_size=4, max_size=30),
    st.sampled_from(edits.EDITS),
    st.integers(0, 4),
    st.integers(0, 99),
)
def test_an_edit_is_one_edit_in_its_fifth(junction, edit, region, seed):
    edited = edits.edited_junction(junction, edit, region, np.random.default_rng(seed))
    if edited is None:
        return
    assert Levenshtein.distance(junction, edited) == 1
    assert len(edited) - len(junction) == {"insertion": 1, "deletion": -1, "substitution": 0}[edit]
    assert edited[0] == junction[0]
    assert edited[-1] == junction[-1]
    if edit == "substitution":
        place = next(p for p in range(len(junction)) if junction[p] != edited[p])
        assert region / 5 <= (place + 0.5) / len(junction) < (region + 1) / 5


def test_cost_of_an_edit_is_its_mean_distance():
    class Length:
        """The number of residues of a receptor, on a line: an indel costs 1, a substitution nothing."""

        def embed(self, receptors):
            lengths = [
                sum(len(value) for value in pair)
                for pair in zip(
                    receptors["tra_junction_aa"].to_pylist(),
                    receptors["trb_junction_aa"].to_pylist(),
                    strict=True,
                )
            ]
            return np.array(lengths, np.float32)[:, None]

    found = edits.measure(of(labelled(30), Length())).to_pandas()
    assert len(found) == 2 * 3 * 5
    assert (found["mean_distance"] == (found["edit"] != "substitution")).all()
    assert (found["std_distance"] == 0).all()
    assert found["n_edits"].max() == 30


def test_pairs_of_fine_tuning_are_of_a_training_and_a_test_receptor():
    chosen = labelled(120)
    chosen.epitopes.update({"A": np.arange(60), "B": np.arange(60, 120)})
    parts = ["train", "validation", "test"]
    ids = chosen.receptors["receptor_id"].to_pylist()
    rows = [
        {"receptor_id": ids[row], "epitope": name, "reference_id": "r", "split": parts[row % 3]}
        for name in "AB"
        for row in chosen.epitopes[name]
    ]
    given_ = fewshot.LabelledReceptors(chosen.receptors, chosen.epitopes, {}, pa.Table.from_pylist(rows))
    splitting = {"method": "given", "per_epitope": 0, "min_receptors": 0}
    measured = [fine_tuning.measure(of(given_, Toy(d), name=str(d), splitting=splitting)) for d in (3, 4)]
    part = {row["receptor_id"]: row["split"] for row in rows}
    epitope = {row["receptor_id"]: row["epitope"] for row in rows}
    table = measured[0].to_pylist()
    assert len(table) == 40 * 40
    assert {part[row["train_receptor_id"]] for row in table} == {"train"}
    assert {part[row["test_receptor_id"]] for row in table} == {"test"}
    for row in table:
        assert row["co_specific"] == (epitope[row["train_receptor_id"]] == epitope[row["test_receptor_id"]])
    both = fine_tuning.conclude(pa.concat_tables(measured), None).to_pandas()
    assert (both["before"] == "3").all()
    assert (both["after"] == "4").all()
    np.testing.assert_allclose(sorted(both["distance_before"]), sorted(measured[0]["distance"].to_pylist()))
    with pytest.raises(analyses.AnalysisSkipped):
        fine_tuning.conclude(measured[0], None)


def test_bins_of_generation_probability_hold_all_known_pairs():
    chosen = labelled(60)
    probabilities = pa.table(
        [chosen.receptors["receptor_id"], np.logspace(-12, -5, 60), [None, 0.0, *[1e-6] * 58]],
        schema=schema.GENERATION,
    )
    found = generation.measure(of(chosen, Toy(), generation=probabilities)).to_pandas()
    for _, bins in found.groupby("binned_by"):
        assert bins["n_pairs"].sum() == 58 * 57 // 2  # two receptors have no probability
        assert (bins["low"].to_numpy()[1:] == bins["high"].to_numpy()[:-1]).all()
    by_probability = found[found["binned_by"] == "probability"]
    assert by_probability["mean_log10_probability"].is_monotonic_increasing
    a, b = np.random.default_rng(0).normal(size=(2, 200))
    correlation = generation._correlation(a, b)
    z, half = np.arctanh(np.corrcoef(a, b)[0, 1]), 1.959964 / np.sqrt(197)
    np.testing.assert_allclose(list(correlation.values()), np.tanh([z, z - half, z + half]), rtol=1e-5)
