"""Functional genes, open reading frames and pseudogenes: what is kept, flagged, embedded and left out."""

import hashlib

from airrvec.core import identity, imgt, schema
from airrvec.encoders.sceptr import Sceptr
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.evaluation import fewshot
from airrvec.input.calls import has_open_reading_frame, read_call
from airrvec.input.germline import chain_sequence, v_loops
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tidytcells
from inputs import (
    BETA,
    CHAIN_COLUMNS,
    assert_conserved,
    chains_of,
    needs_vdjdb,
    normalised_text,
    rejected,
    text,
    vdjdb_labelled,
)

AIRR = ("cell_id", "v_call", "j_call", "junction_aa", "productive", "duplicate_count")
# TRAJ58 and TRBV23-1 are open reading frames.
TRAJ58 = ("TRAV8-3*01", "TRAJ58*01", "CAVGETSGSRLTF")
TRBV23 = ("TRBV23-1*01", "TRBJ2-7*01", "CASSQDSYEQYF")
UNPROVEN = "v_call is an open reading frame, and the input does not call the chain productive"


def read(tmp_path, *rows):
    """Normalise chains: cell, (V, J, junction), productive, reads."""
    lines = [(cell, *chain, productive, reads) for cell, chain, productive, reads in rows]
    return normalised_text(tmp_path / "x.tsv", text(AIRR, lines), "airr")


@pytest.mark.parametrize(
    ("call", "segment", "species", "symbol", "functionality"),
    [
        ("TRAJ58", "J", "homosapiens", "TRAJ58", "ORF"),
        ("TRAJ58*01", "J", "homosapiens", "TRAJ58*01", "ORF"),
        ("TRAJ33", "J", "homosapiens", "TRAJ33", "F"),
        ("TRBJ2-7", "J", "homosapiens", "TRBJ2-7", "F"),  # one of its alleles is functional
        ("TRBJ2-7*02", "J", "homosapiens", "TRBJ2-7*02", "ORF"),
        ("TCRBV23-01*01", "V", "homosapiens", "TRBV23-1*01", "ORF"),
        ("TRBV7-3*02", "V", "homosapiens", "TRBV7-3*02", "ORF"),
        ("TRBV7-3*99", "V", "homosapiens", "TRBV7-3", "F"),
        ("TRBV7", "V", "homosapiens", "TRBV7-2", "F"),  # of its family, TRBV7-1 is an open reading frame
        ("TRBV23-1,TRBV19", "V", "homosapiens", "TRBV19", "F"),  # functional ones first
        ("TRBV21-1,TRBV23-1", "V", "homosapiens", "TRBV23-1", "ORF"),  # then open reading frames
        ("TRBV20/OR9-2,TRBV20-1", "V", "homosapiens", "TRBV20-1", "F"),
        ("TRBV1", "V", "homosapiens", None, None),
        ("TRBJ1-6", "J", "musmusculus", "TRBJ1-6", "ORF"),
        ("TRBJ1-6", "J", "homosapiens", "TRBJ1-6", "F"),
    ],
)
def test_a_call_has_the_functionality_of_its_gene(call, segment, species, symbol, functionality):
    found = read_call(call, segment, species)
    assert (found.symbol, found.functionality) == (symbol, functionality)
    assert (found.problem is None) == (symbol is not None)


@pytest.mark.parametrize("species", schema.SPECIES)
def test_functionalities_are_those_of_tidytcells(species):
    alleles = tidytcells.tr.query(species, precision="allele", functionality="any")
    for kind in ("F", "ORF", "P"):
        expected = set(tidytcells.tr.query(species, precision="allele", functionality=kind))
        assert {allele for allele in alleles if imgt.functionality(allele, species) == kind} == expected
    for name in {*alleles, *(allele.split("*")[0] for allele in alleles)}:
        options = {"species": species, "log_failures": False, "enforce_functional": True}
        functional = tidytcells.tr.standardize(name, **options) == name
        assert (imgt.functionality(name, species) == "F") == functional


def test_a_chain_with_an_open_reading_frame_is_kept_and_flagged(tmp_path):
    result = read(
        tmp_path, ("a", TRAJ58, "T", 9), ("a", BETA, "T", 9), ("b", TRBV23, "T", 9), ("c", BETA, "T", 1)
    )
    assert len(result.rejects) == 0
    assert_conserved(result, 4)
    assert chains_of(result)[0] == (*TRAJ58, *BETA)
    assert result.cells["orf_calls"].to_pylist() == ["tra_j_call", "trb_v_call", None]
    assert result.chains["functionality"].to_pylist() == ["ORF", "F", "ORF", "F"]
    assert result.counts["orf_chains"] == 2
    assert result.counts["per_cent_functional"] == 50
    assert "orf_calls" not in result.receptors.column_names  # the identity of a receptor is its genes


@pytest.mark.parametrize(
    ("chain", "productive", "reason"),
    [
        (TRAJ58, None, None),
        (TRBV23, None, UNPROVEN),
        (TRAJ58, "F", "the chain is not productive"),
        (TRBV23, "F", "the chain is not productive"),
        (("TRBV1*01", *TRBV23[1:]), "T", "v_call is a pseudogene according to IMGT"),
        (("TRAV8-3*01", "TRAJ51*01", "CAVGETSGSRLTF"), "T", "j_call is a pseudogene according to IMGT"),
    ],
)
def test_what_the_input_says_of_it_decides(chain, productive, reason, tmp_path):
    result = read(tmp_path, ("a", chain, productive, 5), ("b", BETA, "T", 1))
    assert [reject[3] for reject in rejected(result)] == ([reason] if reason else [])
    assert_conserved(result, 2)
    assert result.counts["per_cent_functional"] == (100 if reason and "not productive" in reason else 50)


def test_a_v_gene_without_known_loops_is_rejected(monkeypatch):
    from airrvec.input import calls

    monkeypatch.setattr(calls, "v_loops", lambda call, species: ("SGHTS", ""))
    found = calls.read_call.__wrapped__("TRBV5-7", "V", "homosapiens")
    assert found.symbol is None
    assert found.problem == "v_call is an open reading frame whose CDR1 or CDR2 IMGT does not list"
    assert calls.read_call.__wrapped__("TRBV19", "V", "homosapiens").symbol == "TRBV19"


def frames(species: str) -> pa.Table:
    """A receptor for each V and J gene and allele that is an open reading frame."""
    rows = []
    for allele in imgt.alleles("^TR[AB][VJ]", species, "ORF"):
        for call in {allele, allele.split("*")[0]}:
            if imgt.functionality(call, species) == "ORF":
                locus = call[:3].lower()
                fields = dict.fromkeys(CHAIN_COLUMNS) | {f"{locus}_junction_aa": "CASSIRSSYEQYF"}
                fields[f"{locus}_{call[3].lower()}_call"] = call
                rows.append({"species": species, **fields})
    fields = pa.Table.from_pylist(rows, pa.schema([(n, pa.string()) for n in ("species", *CHAIN_COLUMNS)]))
    return identity.receptors_table(fields, pa.repeat("orphan VDJ", len(fields)))


@pytest.mark.parametrize("species", schema.SPECIES)
def test_every_open_reading_frame_is_embedded(species):
    receptors = frames(species)
    assert len(receptors) > 10
    assert has_open_reading_frame(receptors).all()
    vectors = Sceptr("sceptr").embed(receptors)
    assert np.isfinite(vectors).all()
    assert is_measurable(receptors, ("TRA",)).shape == (len(receptors),)
    for call in receptors["tra_v_call"].drop_null().to_pylist():
        assert all(v_loops(call, species))


def test_the_sequence_of_an_open_reading_frame_is_known():
    sequence = chain_sequence("TRBV23-1", "TRAJ58", "CASSF", "homosapiens")
    assert sequence.startswith("HAKVTQTPGHLVKGKGQKTKMDCTPEKGHTFVYWYQQ")
    assert sequence.endswith("CASSFGEGTQLTVNP")


def test_a_functional_chain_goes_before_an_open_reading_frame_of_equal_counts(tmp_path):
    functional = ("TRAV12-2*01", "TRAJ31*01", "CAVNNNARLMF")
    for reads, kept in (((5, 5), functional), ((None, None), functional), ((6, 5), TRAJ58)):
        result = read(tmp_path, ("a", TRAJ58, "T", reads[0]), ("a", functional, "T", reads[1]))
        assert chains_of(result)[0][:3] == kept


def test_synthetic_receptors_have_functional_genes():
    assert not has_open_reading_frame(synthesise(3000, seed=5)).any()


def test_the_benchmark_takes_functional_genes_alone(tmp_path):
    columns = (*CHAIN_COLUMNS, "epitope")
    pair = ("TRAV1-1*01", "TRAJ24*01", "CAVRDSWGKLQF", *BETA)
    rows = [(*pair, "GILGFVFTL"), (*TRAJ58, *BETA, "GILGFVFTL")]
    frame = pd.DataFrame(rows, columns=columns).rename(columns={"epitope": "Epitope"})
    names = {"tra_v_call": "TRAV", "tra_j_call": "TRAJ", "tra_junction_aa": "CDR3A"}
    names |= {"trb_v_call": "TRBV", "trb_j_call": "TRBJ", "trb_junction_aa": "CDR3B"}
    frame.rename(columns=names).to_csv(tmp_path / "x.tsv", sep="\t", index=False)
    result = normalised_text(tmp_path / "x.tsv", (tmp_path / "x.tsv").read_text())
    assert len(result.cells) == 2
    labelled = fewshot.select_labelled(result.cells, result.receptors, species="homosapiens")
    assert labelled.receptors["tra_j_call"].to_pylist() == ["TRAJ24*01"]
    assert labelled.removed["a gene that is an open reading frame"] == 1


@needs_vdjdb
def test_the_receptors_of_table_i_are_those_of_before():
    """All of its splits and values follow from them, in this order."""
    labelled = vdjdb_labelled()
    assert (len(labelled.receptors), len(labelled.epitopes)) == (6827, 873)
    assert labelled.removed["a gene that is an open reading frame"] == 83
    ids = "".join(labelled.receptors["receptor_id"].to_pylist())
    assert hashlib.sha256(ids.encode()).hexdigest()[:16] == "245d12ebe577b396"
