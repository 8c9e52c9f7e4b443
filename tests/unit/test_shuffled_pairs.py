"""Pairs shuffled among the receptors of a run."""

from collections import Counter

from airrvec.core import schema
from airrvec.synthetic.background import shuffle_pairs
from airrvec.synthetic.synthesis import synthesise

import pyarrow as pa
import pytest
from inputs import ALPHA, ALPHA_2, BETA, BETA_2, NO_CHAIN, receptor_id

SEED = 420
N = 20_000


@pytest.fixture(scope="module")
def receptors():
    return synthesise(N, seed=SEED)


def chains_of(receptors, locus) -> list[tuple]:
    columns = (receptors[schema.field(locus, name)].to_pylist() for name in schema.CHAIN_FIELDS)
    return list(zip(*columns, strict=True))


def chain_counts(receptors, locus) -> Counter:
    return Counter(chains_of(receptors, locus))


def test_shuffling_keeps_the_chains_and_changes_the_pairs(receptors):
    mixed = shuffle_pairs(receptors, seed=SEED)
    mixed.validate(full=True)
    assert mixed.schema == schema.RECEPTORS
    for locus in schema.LOCI:
        assert chain_counts(mixed, locus) == chain_counts(receptors, locus)
    same = set(mixed["receptor_id"].to_pylist()) & set(receptors["receptor_id"].to_pylist())
    assert len(same) < 10  # one in the mean
    row = mixed.to_pylist()[0]
    assert row["receptor_id"] == receptor_id("homosapiens", *(row[name] for name in schema.RECEPTOR_FIELDS))
    assert mixed.equals(shuffle_pairs(receptors, seed=SEED))
    assert not mixed.equals(shuffle_pairs(receptors, seed=SEED + 1))


def table_of(*rows) -> pa.Table:
    """Receptors as of a run, from species, α and β chain."""
    columns = [
        *[[f"{number:024}" for number in range(len(rows))]] * 2,
        *zip(*((s, *a, *b) for s, a, b in rows), strict=True),
    ]
    given = [*columns, ["any"] * len(rows), [None] * len(rows), [1] * len(rows), *[[None] * len(rows)] * 4]
    return pa.table([pa.array(column) for column in given], names=schema.COLLECTED_RECEPTORS.names).cast(
        schema.COLLECTED_RECEPTORS
    )


def test_orphans_are_left_out_and_species_do_not_mix():
    mouse_alpha, mouse_beta = ("TRAV1*01", "TRAJ2*01", "CAF"), ("TRBV1*01", "TRBJ1-1*01", "CSF")
    given = table_of(
        ("homosapiens", ALPHA, BETA),
        ("homosapiens", ALPHA_2, NO_CHAIN),
        ("musmusculus", mouse_alpha, mouse_beta),
        ("homosapiens", NO_CHAIN, BETA),
        ("homosapiens", ALPHA_2, BETA_2),
    )
    seen = set()
    for seed in range(20):
        mixed = shuffle_pairs(given, seed=seed)
        assert mixed["species"].to_pylist() == ["homosapiens", "musmusculus", "homosapiens"]
        assert chains_of(mixed, "TRA") == [ALPHA, mouse_alpha, ALPHA_2]
        assert set(mixed["chain_pairing"].to_pylist()) == {"single pair"}
        seen.add(tuple(chains_of(mixed, "TRB")))
    assert seen == {(BETA, mouse_beta, BETA_2), (BETA_2, mouse_beta, BETA)}


def test_nothing_to_shuffle():
    assert len(shuffle_pairs(table_of(("homosapiens", ALPHA, NO_CHAIN)), seed=1)) == 0
    assert shuffle_pairs(schema.RECEPTORS.empty_table(), seed=1).schema == schema.RECEPTORS
