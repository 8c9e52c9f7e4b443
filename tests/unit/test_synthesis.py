"""Synthetic receptors; OLGA's own generator and probabilities are the oracle."""

from collections import Counter
from itertools import pairwise, product

from airrvec.core import schema
from airrvec.core.seeds import numbered_generator
from airrvec.input import junctions
from airrvec.input.calls import read_call
from airrvec.input.standardise import standardise
from airrvec.synthetic import generation, synthesis
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tidytcells
from inputs import receptor_id
from olga.generation_probability import GenerationProbabilityVDJ, GenerationProbabilityVJ
from olga.sequence_generation import SequenceGenerationVDJ, SequenceGenerationVJ
from olga.utils import nt2aa
from scipy import stats

SEED = 420
N = 20_000
ACROSS_BLOCKS = synthesis._BLOCK - 3  # a first receptor whose successors are in the next block


@pytest.fixture(scope="module")
def receptors():
    return synthesise(N, seed=SEED)


@pytest.fixture(scope="module", params=schema.LOCI)
def locus(request):
    return request.param


@pytest.fixture(scope="module")
def chains(receptors, locus):
    """V gene, J gene and junction of each synthetic chain."""
    return chains_of(receptors, locus)


@pytest.fixture(scope="module")
def olga_chains(locus):
    """The same of as many chains that OLGA makes, from its own copy of the model."""
    genomic, model = generation.load(locus)
    generator = {"TRA": SequenceGenerationVJ, "TRB": SequenceGenerationVDJ}[locus](model, genomic)
    np.random.seed(SEED)  # noqa: NPY002 - OLGA draws from numpy's global state
    drawn = [generator.gen_rnd_prod_CDR3(conserved_J_residues="FW") for _ in range(N)]
    named = [
        (
            read_call(genomic.genV[v][0], "V", "homosapiens").symbol,
            read_call(genomic.genJ[j][0], "J", "homosapiens").symbol,
            junction,
        )
        for _, junction, v, j in drawn
    ]
    return [chain for chain in named if None not in chain]


def chains_of(receptors, locus) -> list[tuple]:
    columns = (receptors[schema.field(locus, name)].to_pylist() for name in schema.CHAIN_FIELDS)
    return list(zip(*columns, strict=True))


def p_same(one, other) -> float:
    """p of a chi-squared test that two samples of categories have the same distribution."""
    counts = [Counter(one), Counter(other)]
    table = np.array([[count[category] for category in counts[0] | counts[1]] for count in counts])
    rare = table.sum(axis=0) < 20
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    return stats.chi2_contingency(table[:, table.any(axis=0)]).pvalue


# --- synthesise


@pytest.mark.parametrize(("n", "first"), [(0, 0), (0, 5), (1, 0), (500, 7), (5, ACROSS_BLOCKS)])
def test_exactly_as_many_as_asked_for(n, first):
    made = synthesise(n, seed=SEED, first=first)
    assert made.schema == schema.RECEPTORS
    assert len(made) == n
    assert made.equals(synthesise(n, seed=SEED, first=first))


def test_receptors_are_complete_pairs_with_the_documented_identity(receptors):
    receptors.validate(full=True)
    assert len(receptors) == N
    assert not any(column.null_count for column in receptors.drop("innate_like").columns)
    assert set(receptors["species"].to_pylist()) == {"homosapiens"}
    assert set(receptors["chain_pairing"].to_pylist()) == {"single pair"}
    for row in receptors.slice(0, 100).to_pylist():
        fields = [row[name] for name in schema.RECEPTOR_FIELDS]
        assert row["receptor_id"] == receptor_id("homosapiens", *fields)


def test_other_seeds_and_rows_are_other_receptors(receptors):
    ids = [
        set(made["receptor_id"].to_pylist())
        for made in (receptors, synthesise(N, seed=SEED + 1), synthesise(N, seed=SEED, first=N))
    ]
    assert len(set.union(*ids)) == 3 * N


@pytest.mark.parametrize(
    "cuts", [[500], [1, 2, 999], [ACROSS_BLOCKS, synthesis._BLOCK, synthesis._BLOCK + 1]]
)
def test_however_it_is_cut_the_whole_is_the_same(receptors, cuts):
    edges = [0, *cuts, max(1_000, cuts[-1] + 1_000)]
    parts = {
        first: synthesise(end - first, seed=SEED, first=first)
        for first, end in reversed(list(pairwise(edges)))
    }
    whole = pa.concat_tables([parts[first] for first in sorted(parts)])
    assert whole.equals(receptors.slice(0, len(whole)))


def test_numpys_global_random_numbers_are_left_alone():
    before, position = np.random.get_state()[1:3]  # noqa: NPY002
    synthesise(10, seed=SEED)
    after, position_after = np.random.get_state()[1:3]  # noqa: NPY002
    assert np.array_equal(before, after)
    assert position == position_after


def test_normalising_them_changes_nothing(chains, locus):
    columns = dict(zip(schema.CHAIN_FIELDS, zip(*chains, strict=True), strict=True))
    given = {"row": range(N), "locus": [locus] * N, **columns}
    table = pa.table(
        [pa.array(given.get(field.name, [None] * N), field.type) for field in schema.CHAIN_RECORDS],
        schema=schema.CHAIN_RECORDS,
    )
    standardised, failures = standardise(table, "homosapiens")
    assert len(failures) == 0
    for name in schema.CHAIN_FIELDS:
        assert standardised[name].to_pylist() == list(columns[name])


def test_genes_are_functional_and_of_their_locus(chains, locus):
    for part, segment in ((0, "V"), (1, "J")):
        functional = {
            name
            for precision in ("gene", "allele")
            for name in tidytcells.tr.query(
                species="homosapiens",
                precision=precision,
                functionality="F",
                contains_pattern=f"^{locus}{segment}",
            )
        }
        assert {chain[part] for chain in chains} <= functional


def test_junctions_are_ours(chains):
    junction = pa.array([chain[2] for chain in chains])
    assert pc.all(junctions.is_complete(junction)).as_py()


# --- OLGA as the oracle


@pytest.mark.parametrize(
    "trait",
    [
        lambda v, j, junction: v,
        lambda v, j, junction: j,
        lambda v, j, junction: (v, j),
        lambda v, j, junction: len(junction),
        lambda v, j, junction: (v, junction[:4]),
        lambda v, j, junction: (j, junction[-6:]),
        lambda v, j, junction: junction[len(junction) // 2 - 1 :][:3],
    ],
    ids=["V", "J", "V and J", "length", "V and its start", "J and its end", "middle"],
)
def test_chains_are_distributed_as_olgas(chains, olga_chains, trait):
    assert p_same([trait(*chain) for chain in chains], [trait(*chain) for chain in olga_chains]) > 0.005


def test_a_wrong_distribution_would_be_seen(chains, olga_chains):
    """Were one chain in three a residue too short, say."""
    shorter = [len(junction) - (number % 3 == 0) for number, (_, _, junction) in enumerate(chains)]
    assert p_same(shorter, [len(junction) for _, _, junction in olga_chains]) < 1e-6


def test_the_chains_of_a_pair_are_independent(receptors):
    alpha, beta = (chains_of(receptors, locus) for locus in schema.LOCI)
    for trait in (lambda chain: len(chain[2]), lambda chain: chain[0]):
        traits = [
            np.unique([trait(chain) for chain in chains], return_inverse=True)[1] for chains in (alpha, beta)
        ]
        table = stats.contingency.crosstab(*traits).count
        frequent = table[table.sum(axis=1) > N / 50][:, table.sum(axis=0) > N / 50]
        assert len(frequent) > 5
        assert stats.chi2_contingency(frequent).pvalue > 0.005


def test_olga_gives_every_chain_with_its_genes_a_probability(chains, locus):
    genomic, model = generation.load(locus)
    probability = {"TRA": GenerationProbabilityVJ, "TRB": GenerationProbabilityVDJ}[locus](model, genomic)
    for v, j, junction in chains[:50]:
        assert probability.compute_aa_CDR3_pgen(junction, v, j, print_warnings=False) > 0


def shares_of(outcomes) -> np.ndarray:
    """Probability of each outcome in each distribution, from its alias table."""
    kept, alias = (part.reshape(-1, outcomes.k) for part in (outcomes._kept, outcomes._alias))
    shares = kept / outcomes.k
    for share, row_alias, row_kept in zip(shares, alias, kept, strict=True):
        np.add.at(share, row_alias, (1 - row_kept) / outcomes.k)
    return shares


def test_alias_tables_hold_the_weights():
    weights = np.array([[0.0, 3.0, 0.5, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 7.0], [0.0] * 4])
    outcomes = synthesis.Outcomes(weights)
    expected = weights[:3] / weights[:3].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares_of(outcomes)[:3], expected, atol=1e-15)
    given = np.repeat([2, 0], 1_000)
    drawn = outcomes.draw(numbered_generator(1), len(given), given)
    assert set(drawn[:1_000]) == {3}
    assert set(drawn[1_000:]) == {1, 2}


def test_only_functional_genes_that_olga_can_place_are_drawn(locus):
    """Others are so rare in what is productive that no sample would show them."""
    model = synthesis.recombination(locus, "homosapiens")
    shares = shares_of(model.genes).reshape(model.n_genes)
    for calls, lengths, share in (
        (model.calls[0], model.lengths[0], shares.sum(axis=(1, 2))),
        (model.calls[1], model.lengths[2], shares.sum(axis=(0, 1))),
    ):
        useless = ~calls.is_valid().to_numpy(zero_copy_only=False) | (lengths == 0)
        assert useless.any()
        assert np.all(share[useless] == 0)
        assert share.sum() == pytest.approx(1)


def test_a_recombination_is_put_together_from_its_events():
    def always(outcome: int, k: int):
        return synthesis.Outcomes(np.eye(k)[[outcome]])

    acgta = synthesis.Outcomes(np.roll(np.eye(4), 1, axis=1))  # behind A comes C, …
    v, d, j = "TGTGCA", "GGAATT", "GGTTT"
    model = synthesis.Recombination(
        calls=(pa.array(["TRBV1"]), pa.array(["TRBJ1"])),
        n_genes=(1, 1, 1),
        genes=always(0, 1),
        deletions=(always(1, 3), always(1 * 4 + 2, 16), always(1, 3)),
        insertions=((always(4, 6), always(0, 4), acgta), (always(2, 6), always(2, 4), acgta)),
        germline=np.array(["ACGT".index(letter) for letter in v + d + j], np.uint8),
        starts=(np.array([0]), np.array([6]), np.array([12])),
        lengths=(np.array([6]), np.array([6]), np.array([5])),
    )
    # V, inserted from left to right, D, inserted from right to left, J
    expected = nt2aa("TGTGC" + "ACGT" + "GAA" + "TG" + "GTTT")
    assert expected == "CAREWF"
    made = model.chains(numbered_generator(1), 3)
    assert made.to_pylist() == [{"v_call": "TRBV1", "j_call": "TRBJ1", "junction_aa": expected}] * 3


def test_translation_is_olgas():
    codons = ["".join(codon) for codon in product("ACGT", repeat=3)]
    sequences = [f"TGT{codon}TTT" for codon in codons] + ["TGTGCAGTT", "TTTGCATTT", "TGTGCATGG"]
    nucleotides = np.array(["ACGT".index(letter) for letter in "".join(sequences)], np.uint8)
    translated = synthesis._translated(nucleotides, np.full(len(sequences), 3)).to_pylist()
    expected = [nt2aa(sequence) for sequence in sequences]
    assert translated[-3:] == [None, None, "CAW"]
    assert translated[:-3] == [None if "*" in aa else aa for aa in expected[:-3]]
    assert translated.count(None) == 5
