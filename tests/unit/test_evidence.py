"""Evidence for the epitopes of receptors, beside the formulas; and what is fitted to it."""

from airrvec.annotation import calibrate, evidence, reference_set, scorer
from airrvec.annotation.evidence import COMPARED, Sources
from airrvec.core import schema, tables
from airrvec.core.chains import on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.encoders.tcrdist import Tcrdist
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pytest
from inputs import labelled_cells, variants

N_STUDIES = 10
embed = Sceptr("sceptr").embed


def sources_of(receptors: pa.Table, epitopes: list[str], n_contrast: int = 200, studies=N_STUDIES) -> Sources:
    """Sources of pairs, with the single chains that these have."""
    cells = labelled_cells(receptors, epitopes, [f"study {n // 2 % studies}" for n in range(len(receptors))])
    options = {"receptors": receptors, "species": "homosapiens"}
    references = {
        chains: reference_set.build_reference_set(cells, chains=chains, **options)
        for chains in COMPARED["paired"]
    }
    contrast = tables.distinct_receptors(synthesise(n_contrast, seed=11))
    return Sources.embedded("paired", references, contrast, embed, min_references=5)


@pytest.fixture(scope="module")
def small():
    """Few enough references and contrast receptors that all of them are neighbours."""
    return sources_of(variants(1, 40, most=2), ["one", "two"] * 20, n_contrast=60)


def looked_at(sources: Sources, receptors: pa.Table, threshold: float = -np.inf) -> evidence.Evidence:
    first = evidence.first_candidates(sources, embed(receptors))
    return evidence.rescore(sources, receptors, first, threshold)


def test_tcrdist_is_the_log_share_of_the_epitope_in_its_density(small):
    asked = variants(2, 6, most=2)
    found = looked_at(small, asked)
    assert found.receptor.tolist() == np.repeat(np.arange(6), 2).tolist()
    reference = small.reference
    density, others = (
        np.exp(-Tcrdist().distances(asked, table) / small.kernel)
        for table in (reference.receptors, small.contrast)
    )
    total = density.sum(axis=1) + others.sum(axis=1) + np.exp(-16)
    expected = np.log((density @ reference.labels.toarray() + np.exp(-60)) / total[:, None])
    column = evidence.NAMES["paired"].index("tcrdist")
    np.testing.assert_allclose(
        found.measures[:, column], expected[found.receptor, found.epitope].clip(evidence.LOWEST), rtol=1e-5
    )


@pytest.mark.parametrize("chains", ["alpha", "beta"])
def test_a_chain_is_compared_with_all_references_that_have_it(small, chains):
    asked = variants(3, 6, most=2)
    found = looked_at(small, asked)
    reference = small.references[chains]
    distances = np.linalg.norm(embed(on_chains(asked, chains))[:, None] - small.vectors[chains], axis=2)
    others = np.linalg.norm(embed(on_chains(asked, chains))[:, None] - small.contrast_vectors[chains], axis=2)
    density = np.exp(-distances.astype(float) / 0.05)
    total = density.sum(axis=1) + np.exp(-others.astype(float) / 0.05).sum(axis=1) + np.exp(-16)
    expected = np.log((density @ reference.labels.toarray()) / total[:, None])
    column = evidence.NAMES["paired"].index(chains)
    np.testing.assert_allclose(
        found.measures[:, column], expected[found.receptor, found.epitope], rtol=1e-4, atol=1e-4
    )


def test_genes_are_compared_with_the_background(small):
    """By hand for the V gene of α: one parent of each epitope, so all its references have one gene."""
    asked = small.reference.receptors
    column = evidence.NAMES["paired"].index("alpha_genes")
    found = looked_at(small, asked)
    names = ("tra_v_call", "tra_j_call")
    known = {name: [gene.split("*")[0] for gene in asked[name].to_pylist()] for name in names}
    others = {name: [gene.split("*")[0] for gene in small.contrast[name].to_pylist()] for name in names}
    labels = small.reference.labels.toarray()
    for receptor, epitope, value in zip(
        found.receptor, found.epitope, found.measures[:, column], strict=True
    ):
        expected = 0
        for name in names:
            gene = known[name][receptor]
            n_genes = len({*known[name], *others[name]})
            background = (others[name].count(gene) + 1) / (len(others[name]) + n_genes)
            n_with = sum(labels[row, epitope] for row, other in enumerate(known[name]) if other == gene)
            share = (n_with + 20 * background) / (labels[:, epitope].sum() + 20)
            expected += np.log(share / background)
        assert value == pytest.approx(expected)


def test_only_receptors_above_the_threshold_are_looked_at_again(small):
    asked = pa.concat_tables([variants(4, 5, most=2), tables.distinct_receptors(synthesise(20, seed=5))])
    _, best = evidence.first_candidates(small, embed(asked)).best()
    found = looked_at(small, asked, threshold=float(np.sort(best)[-6]))
    assert np.unique(found.receptor).tolist() == np.sort(np.argsort(best)[-6:]).tolist()
    part = found.take(np.array([0, 2, 24]))
    kept = np.isin(found.receptor, [0, 2, 24])
    np.testing.assert_array_equal(part.measures, found.measures[kept])
    np.testing.assert_array_equal(np.array([0, 2, 24])[part.receptor], found.receptor[kept])


def test_without_tcrdist_its_share_is_that_of_sceptr(small):
    asked = variants(6, 4, most=2)
    column = asked.column_names.index("tra_v_call")
    genes = asked["tra_v_call"].to_pylist()
    asked = asked.set_column(column, "tra_v_call", pa.array([None, None, *genes[2:]]))
    assert is_measurable(asked, schema.LOCI).tolist() == [False, False, True, True]
    found = looked_at(small, asked)
    same = found.measures[:, 0] == found.measures[:, 1]
    assert same[found.receptor < 2].all()
    assert not same[found.receptor >= 2].any()


@pytest.fixture(scope="module")
def fitted():
    labelled = variants(7, 400, most=2)
    sources = sources_of(labelled, ["one", "two"] * 200)
    background = tables.distinct_receptors(synthesise(2000, seed=12))
    return sources, background, calibrate.fit(sources, background, embed(background))


def test_planted_epitopes_are_found_and_rates_are_low(fitted):
    sources, _, found = fitted
    assert found.scorer.is_trained
    assert found.queries["right"].mean() > 0.9
    sample = pa.concat_tables(
        [variants(8, 100, most=2), tables.distinct_receptors(synthesise(1000, seed=13))]
    )
    first = evidence.first_candidates(sources, embed(sample))
    candidates = found.scorer.candidates(evidence.rescore(sources, sample, first, found.scorer.threshold))
    epitope, score = candidates.best()
    calibration = found.scores.calibration()
    called = calibration.fdr(score, calibration.prevalence(score)) <= 0.1
    names = sources.reference.epitopes["epitope"].to_numpy()[epitope[:100]]
    assert (called[:100] & (names == np.array(["one", "two"] * 50))).sum() > 80
    assert called[100:].sum() <= 10


def test_no_receptor_is_scored_by_what_it_trained(monkeypatch):
    sources = sources_of(variants(9, 400, most=2), ["one", "two"] * 200)
    background = tables.distinct_receptors(synthesise(800, seed=14))
    vectors = embed(background)
    seen, fit = [], scorer.fit

    def recording(measures, *rest):
        seen.append({tuple(row) for row in measures.round(9)})
        return fit(measures, *rest)

    monkeypatch.setattr(calibrate.scorer, "fit", recording)
    found = calibrate.fit(sources, background, vectors)
    _, of_folds = calibrate.evidence_by_fold(sources, found.scorer.threshold)
    assert len(seen) == len(of_folds) + 1
    for fold, part in enumerate(of_folds):
        telling = part.measures[(part.measures[:, :4] > evidence.LOWEST).all(axis=1)]
        own = {tuple(row) for row in telling.round(9)}
        assert len(own) > 20
        assert not own & seen[fold]
        assert own <= seen[-1]


def test_labels_that_mean_nothing_give_no_calls():
    labelled = tables.distinct_receptors(synthesise(600, seed=15))
    epitopes = np.random.default_rng(1).choice(["a", "b", "c"], len(labelled)).tolist()
    background = tables.distinct_receptors(synthesise(2000, seed=16))
    sources = sources_of(labelled, epitopes)
    found = calibrate.fit(sources, background, embed(background))
    sample = tables.distinct_receptors(synthesise(1000, seed=17))
    first = evidence.first_candidates(sources, embed(sample))
    again = evidence.rescore(sources, sample, first, found.scorer.threshold)
    _, score = found.scorer.candidates(again).best()
    calibration = found.scores.calibration()
    assert (calibration.fdr(score, calibration.prevalence(score)) <= 0.2).sum() <= 5


def test_too_few_labels_train_nothing():
    sources = sources_of(variants(10, 60, most=2), ["one", "two"] * 30)
    background = tables.distinct_receptors(synthesise(500, seed=18))
    found = calibrate.fit(sources, background, embed(background))
    assert not found.scorer.is_trained
    assert found.queries["right"].mean() > 0.9
    collected = calibrate.collect(sources, background, embed(background))
    collected.queries["kept"] = collected.queries["row"] >= 10
    kept = calibrate.train(collected)
    assert kept.queries["row"].min() >= 10
    assert len(kept.scores.labelled) == len(kept.queries) == len(found.queries) - 10
