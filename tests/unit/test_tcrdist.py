"""TCRdist's distances are pyrepseq's."""

import warnings
from pathlib import Path

from airrvec import encoders
from airrvec.core.chains import on_chains
from airrvec.input import normalise, reading

import numpy as np
import pyarrow as pa
import pytest
from inputs import like_first

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dash() -> pa.Table:
    chains = reading.open_chains(ROOT / "assets/demo/dash_human.csv")
    receptors = normalise.normalise(chains, sample_id="x", species="homosapiens").receptors
    return receptors.drop("innate_like").drop_null()


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


@pytest.mark.filterwarnings("ignore")
def test_tcrdist_is_pyrepseqs(dash, pyrepseq_tcrdist):
    queries, references = dash.slice(0, 120), dash.slice(100)
    ours = encoders.load("tcrdist").distances(queries, references)
    theirs = pyrepseq_tcrdist.calc_cdist_matrix(as_pyrepseq(queries), as_pyrepseq(references))
    assert ours.shape == (120, len(references))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.filterwarnings("ignore")
def test_tcrdist_is_pyrepseqs_for_junctions_of_all_lengths(dash, pyrepseq_tcrdist):
    """Gaps follow another rule in short junctions, so all pairs of many lengths are compared."""
    rng = np.random.default_rng(7)

    def junction(length: int) -> str:
        return "C" + "".join(rng.choice(list("ADGKLSTVY"), length - 2)) + "F"

    made = like_first(
        dash,
        [
            {"tra_junction_aa": junction(length), "trb_junction_aa": junction(length)}
            for length in (*range(5, 26), 62, 63, 64, 90)  # from 64 on distances do not fit a byte
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chains", ["alpha", "beta"])
def test_tcrdist_of_one_chain_is_pyrepseqs(dash, chains):
    from pyrepseq.metric.tcr_metric import AlphaTcrdist, BetaTcrdist

    some = dash.slice(0, 90)
    ours = encoders.load("tcrdist").distances(*[on_chains(some, chains)] * 2)
    theirs = {"alpha": AlphaTcrdist, "beta": BetaTcrdist}[chains]()
    np.testing.assert_array_equal(ours, theirs.calc_cdist_matrix(*[as_pyrepseq(some)] * 2))


def test_tcrdist_is_the_same_in_blocks(dash, monkeypatch):
    encoder, rows = encoders.load("tcrdist"), np.array([40, 3, 3, 200])
    whole = encoder.distances(dash, dash)
    monkeypatch.setattr("airrvec.encoders.tcrdist.BLOCK", 37)
    monkeypatch.setattr("airrvec.encoders.tcrdist.MOST_QUERIES", 53)
    np.testing.assert_array_equal(encoder.distances(dash, dash), whole)
    np.testing.assert_array_equal(encoder.distance_rows(dash)(rows), whole[rows])


@pytest.mark.parametrize("k", [1, 20, 10**6])
def test_the_nearest_by_tcrdist_are_those_of_its_distances(dash, monkeypatch, k):
    encoder, queries = encoders.load("tcrdist"), dash.slice(5, 90)
    whole = encoder.distances(queries, dash)
    order = np.argsort(whole, axis=1, kind="stable")[:, :k]
    monkeypatch.setattr("airrvec.encoders.tcrdist.MOST_QUERIES", 37)
    distances, rows = encoder.nearest(queries, dash, k)
    np.testing.assert_array_equal(rows, order)
    np.testing.assert_array_equal(distances, np.take_along_axis(whole, order, axis=1))


def test_a_v_gene_without_loops_cannot_be_measured_by_tcrdist(dash):
    made = like_first(dash, [{"trb_v_call": "TRBV99*01"}])
    with pytest.raises(encoders.NotMeasurable, match=r"no loops of TRBV99\*01 \(homosapiens\)"):
        encoders.load("tcrdist").distances(made, dash.slice(0, 2))


def test_tcrdist_of_two_species_cannot_be_measured(dash):
    made = like_first(dash, [{}, {"species": "musmusculus"}])
    with pytest.raises(encoders.NotMeasurable, match="one species, not of homosapiens and musmusculus"):
        encoders.load("tcrdist").distance_rows(made)
