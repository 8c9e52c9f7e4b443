"""Distances are those of the libraries that the field uses."""

from pathlib import Path

from airrvec import encoders
from airrvec.core.chains import on_chains
from airrvec.core.errors import InputError
from airrvec.encoders.combined import Sum
from airrvec.input import normalise, reading

import numpy as np
import pyarrow as pa
import pytest
from inputs import like_first
from rapidfuzz.distance import Levenshtein

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dash() -> pa.Table:
    chains = reading.open_chains(ROOT / "assets/demo/dash_human.csv")
    receptors = normalise.normalise(chains, sample_id="x", species="homosapiens").receptors
    return receptors.drop("innate_like").drop_null()


def test_levenshtein_is_the_sum_over_both_junctions(dash):
    some = dash.slice(0, 25)
    rows = some.to_pylist()
    expected = [
        [
            sum(Levenshtein.distance(a[name], b[name]) for name in ("tra_junction_aa", "trb_junction_aa"))
            for b in rows
        ]
        for a in rows
    ]
    np.testing.assert_array_equal(encoders.load("cdr3_levenshtein").distances(some, some), expected)


CHAINWISE = ["tcrdist", "cdr3_levenshtein", "length", "v_j_genes"]


@pytest.mark.parametrize("name", CHAINWISE)
def test_distances_of_single_chains(dash, name):
    """Sums over chains: α and β add up to both, for lengths their squares do."""
    encoder, rows = encoders.load(name), np.arange(30)
    alpha, beta, paired = (
        encoders.distance_rows(encoder, on_chains(dash, chains))(rows).astype(float)
        for chains in ("alpha", "beta", "paired")
    )
    assert (alpha != beta).any()
    power = 2 if name == "length" else 1
    np.testing.assert_allclose(alpha**power + beta**power, paired**power, rtol=1e-5)


@pytest.mark.parametrize("name", CHAINWISE)
def test_a_chain_that_some_receptors_lack_cannot_be_measured(dash, name):
    made = like_first(dash, [{"tra_v_call": None, "tra_j_call": None, "tra_junction_aa": None}, {}, {}])
    with pytest.raises(
        encoders.NotMeasurable, match=r"needs tra_\w+ for all receptors or for none; '\w+' lacks it"
    ):
        encoders.distance_rows(encoders.load(name), made)(np.arange(3))


@pytest.mark.parametrize("name", CHAINWISE)
def test_receptors_without_a_chain_cannot_be_measured(dash, name):
    none = on_chains(on_chains(dash, "alpha"), "beta")
    with pytest.raises(encoders.NotMeasurable, match="no receptor has it"):
        encoders.distance_rows(encoders.load(name), none)(np.arange(3))


@pytest.mark.parametrize(
    ("chains", "seen_alone"), [("alpha", "sceptr_alpha_only"), ("beta", "sceptr_beta_only")]
)
def test_sceptr_sees_the_chains_that_are_there(dash, chains, seen_alone):
    both, one = (encoders.load("sceptr_tiny").embed(t) for t in (dash, on_chains(dash, chains)))
    assert np.isfinite(one).all()
    assert np.abs(both - one).max() > 0.1
    one_chain = encoders.load(seen_alone)
    np.testing.assert_allclose(one_chain.embed(on_chains(dash, chains)), one_chain.embed(dash), atol=1e-6)


def test_length_is_that_of_the_junctions(dash):
    vectors = encoders.load("length").embed(dash.slice(0, 5))
    names = ("tra_junction_aa", "trb_junction_aa")
    expected = [[len(row[name]) for name in names] for row in dash.slice(0, 5).to_pylist()]
    np.testing.assert_array_equal(vectors, expected)


def test_v_j_genes_counts_differing_genes(dash):
    first = dash.slice(0, 1).to_pylist()[0]
    other_allele = f"{first['trb_v_call'].split('*')[0]}*07"
    made = like_first(
        dash,
        [
            {},
            {"trb_v_call": other_allele},
            {"trb_v_call": "TRBV99*01"},
            {"tra_v_call": "TRAV99", "tra_j_call": "x", "trb_j_call": "y"},
        ],
    )
    np.testing.assert_array_equal(encoders.load("v_j_genes").distances(made, made)[0], [0, 0, 1, 3])


def test_random_vectors_follow_from_the_receptor_id(dash):
    vectors = encoders.load("random").embed(dash)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    reversed_rows = pa.array(range(len(dash)))[::-1]
    np.testing.assert_array_equal(encoders.load("random").embed(dash.take(reversed_rows))[::-1], vectors)
    similarity = (vectors @ vectors.T)[np.triu_indices(len(dash), 1)]
    assert abs(similarity.mean()) < 0.01
    assert similarity.std() == pytest.approx(1 / 8, rel=0.05)  # 64 dimensions


OWN = """
import numpy as np

TITLE = "Mine"


class encoder:
    def embed(self, receptors):
        return np.ones((len(receptors), 1), np.float32)
"""


def test_a_file_is_an_encoder(dash, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    encoder, title = encoders.load_titled(str(tmp_path / "mine.py"), "mine")
    assert (encoders.distance_rows(encoder, dash)(np.arange(2)) == np.zeros((2, len(dash)))).all()
    assert title == "Mine"
    assert encoders.Titles()["mine"] == "mine"  # the file leaves nothing behind
    assert encoders.load_titled("random", "random")[1] == "Random vectors"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace("TITLE", "NAME"), "mine.py: defines no TITLE"),
        (OWN.replace("class encoder", "class Encoder"), "mine.py: defines no encoder"),
        (OWN.replace("embed", "vectors"), "has none of the methods embed, distances, distance_rows"),
    ],
)
def test_a_file_that_makes_no_encoder_is_refused(tmp_path, text, message):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(InputError, match=message):
        encoders.load(str(tmp_path / "mine.py"))


def test_a_missing_file_is_refused():
    with pytest.raises(InputError, match=r"there is no file 'nowhere/mine\.py'"):
        encoders.load("nowhere/mine.py")


def test_distance_rows_of_vectors_are_euclidean(dash):
    encoder = encoders.load("sceptr_tiny")
    vectors = encoder.embed(dash)
    rows = np.array([3, 0, 77])
    block = encoders.distance_rows(encoder, dash)(rows)
    expected = np.linalg.norm(vectors[rows, None] - vectors[None], axis=-1)
    np.testing.assert_allclose(block, expected, atol=1e-6)


def test_distance_rows_of_distances(dash):
    encoder = encoders.load("cdr3_levenshtein")
    rows = np.array([5, 2])
    block = encoders.distance_rows(encoder, dash)(rows)
    np.testing.assert_array_equal(block, encoder.distances(dash, dash)[rows])


def test_an_unknown_encoder_is_refused():
    with pytest.raises(InputError, match="there is no encoder 'esm3'"):
        encoders.load("esm3")


def test_a_sum_is_the_mean_of_distances_in_units_of_their_spread(dash):
    names = ("sceptr_tiny", "cdr3_levenshtein", "tcrdist")
    rows = np.arange(7)
    summed = encoders.distance_rows(encoders.load("+".join(names)), dash)(rows)
    distances = [encoders.distance_rows(encoders.load(name), dash)(np.arange(len(dash))) for name in names]
    pairs = np.triu_indices(len(dash), 1)
    spreads = [each[pairs].std() for each in distances]
    assert len(dash) < 1000  # all of them are the sample
    expected = sum(each / spread for each, spread in zip(distances, spreads, strict=True)) * spreads[0] / 3
    np.testing.assert_allclose(summed, expected[rows], rtol=1e-5)
    assert encoders.Titles()["sceptr+tcrdist"] == "SCEPTR + TCRdist"


class Constant:
    def __init__(self, value):
        self.value = value

    def distances(self, queries, references):
        return np.full((len(queries), len(references)), self.value, np.float32)


@pytest.mark.filterwarnings("error")
def test_an_encoder_without_a_spread_adds_nothing_to_a_sum(dash):
    tcrdist = encoders.load("tcrdist")
    alone, rows = encoders.distance_rows(tcrdist, dash), np.arange(5)
    for parts in ([tcrdist, Constant(0.1)], [Constant(0), tcrdist], [Constant(3), tcrdist, Constant(0.3)]):
        summed = encoders.distance_rows(Sum(parts), dash)(rows)
        np.testing.assert_allclose(summed, alone(rows) / len(parts), rtol=1e-6)
    none = encoders.distance_rows(Sum([Constant(1), Constant(3)]), dash)(rows)
    assert (none == 2).all()
    one = dash.slice(0, 1)  # no pair to have a spread
    assert np.isfinite(encoders.distance_rows(Sum([tcrdist, Constant(1)]), one)(np.array([0]))).all()


def test_an_unknown_part_of_a_sum_is_refused():
    with pytest.raises(InputError, match="there is no encoder 'esm3'"):
        encoders.load("sceptr_tiny+esm3")
