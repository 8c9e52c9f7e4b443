"""Distances are those of the libraries that the field uses."""

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rapidfuzz.distance import Levenshtein

from airrvec import encoders, normalise, readers, schema
from airrvec.errors import InputError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dash() -> pa.Table:
    chains = readers.open_chains(ROOT / "assets/demo/dash_human.csv")
    receptors = normalise.normalise(chains, sample_id="x", species="homosapiens").receptors
    known = pc.and_(pc.is_valid(receptors["tra_v_call"]), pc.is_valid(receptors["trb_v_call"]))
    return receptors.filter(known)


def as_pyrepseq(receptors: pa.Table):
    columns = {
        "tra_v_call": "TRAV",
        "tra_junction_aa": "CDR3A",
        "trb_v_call": "TRBV",
        "trb_junction_aa": "CDR3B",
    }
    return receptors.to_pandas()[list(columns)].rename(columns=columns)


@pytest.fixture(scope="module")
def pyrepseq_tcrdist():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyrepseq.metric.tcr_metric import Tcrdist
    return Tcrdist()


def like_first(dash: pa.Table, rows: list[dict]) -> pa.Table:
    """The first receptor, with some fields of its own in each row."""
    return pa.Table.from_pylist(
        [{**dash.slice(0, 1).to_pylist()[0], **row} for row in rows], schema.RECEPTORS
    )


@pytest.mark.filterwarnings("ignore")
def test_tcrdist_is_pyrepseqs(dash, pyrepseq_tcrdist):
    queries, references = dash.slice(0, 120), dash.slice(100)
    ours = encoders.load("tcrdist").distances(queries, references)
    theirs = pyrepseq_tcrdist.calc_cdist_matrix(as_pyrepseq(queries), as_pyrepseq(references))
    assert ours.shape == (120, len(references))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.filterwarnings("ignore")
def test_tcrdist_is_pyrepseqs_for_junctions_of_all_lengths(dash, pyrepseq_tcrdist):
    """Gaps follow another rule in short junctions, so all pairs of lengths 5 to 25 are compared."""
    rng = np.random.default_rng(7)

    def junction(length: int) -> str:
        return "C" + "".join(rng.choice(list("ADGKLSTVY"), length - 2)) + "F"

    made = like_first(
        dash,
        [
            {"tra_junction_aa": junction(length), "trb_junction_aa": junction(length)}
            for length in range(5, 26)
            for _ in range(3)
        ],
    )
    ours = encoders.load("tcrdist").distances(made, made)
    np.testing.assert_array_equal(
        ours, pyrepseq_tcrdist.calc_cdist_matrix(as_pyrepseq(made), as_pyrepseq(made))
    )
    np.testing.assert_array_equal(ours, ours.T)
    assert (np.diag(ours) == 0).all()
    assert len(np.unique(ours)) > 50


@pytest.mark.parametrize("allele", ["TRBV28*02", "TRBV24-1*02", "TRBV11-3*04"])
def test_tcrdist_takes_alleles_without_loops_for_the_first_of_their_gene(dash, allele):
    made = like_first(dash, [{"trb_v_call": allele}, {"trb_v_call": f"{allele.split('*')[0]}*01"}])
    distances = encoders.load("tcrdist").distances(made, dash.slice(0, 50))
    np.testing.assert_array_equal(distances[0], distances[1])
    assert distances[0].max() > 0


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


@pytest.mark.parametrize("name", ["tcrdist", "cdr3_levenshtein"])
def test_a_missing_chain_is_refused(dash, name):
    made = like_first(dash, [{"tra_v_call": None, "tra_junction_aa": None}])
    with pytest.raises(ValueError, match="both chains"):
        encoders.load(name).distances(made, dash.slice(0, 2))


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
    assert encoders.title("sceptr+tcrdist") == "SCEPTR + TCRdist"


def test_an_unknown_part_of_a_sum_is_refused():
    with pytest.raises(InputError, match="there is no encoder 'esm3'"):
        encoders.load("sceptr_tiny+esm3")
