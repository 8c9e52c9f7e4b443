"""Junctions told from CDR3s without their conserved ends by what the germline holds."""

import csv
import gzip
import re
from collections import Counter

from airrvec.input import reading
from airrvec.input.calls import read_call
from airrvec.input.germline import Anchor, j_anchors, v_anchors
from airrvec.input.junctions import MIN_COMPLETED, complete_junction, is_complete
from airrvec.input.standardise import standardise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tidytcells
from inputs import SHARED, needs_shared, needs_vdjdb

HUMAN = "homosapiens"
REPLACED = "junction_aa has another residue in place of its C"
TOO_SHORT = "junction_aa lacks a conserved end and is too short to be a CDR3"
CUT_SHORT = "junction_aa starts with C but does not end as a junction does"


def test_germline_around_the_conserved_residues():
    assert j_anchors("TRBJ1-1*01", "TRB", HUMAN) == (Anchor("NTEAF", "F", "GQGTRLTVV"),)
    assert j_anchors("TRAJ35", "TRA", HUMAN) == (Anchor("IGFGNVLH", "C", "GSGTQVIVLP"),)
    # The second allele, an open reading frame, has V in place of F.
    assert [end.residue for end in j_anchors("TRBJ2-7*01", "TRB", HUMAN)] == ["F", "V"]
    assert j_anchors("TRAJ33", "TRA", HUMAN)[0].residue == "W"
    assert v_anchors("TRBV19*01", "TRB", HUMAN) == (Anchor("FYL", "C", "ASSI"),)
    assert len(j_anchors(None, "TRB", HUMAN)) == 13


@pytest.mark.parametrize(
    ("sequence", "v_call", "j_call", "expected"),
    [
        ("ASSIRSSYEQY", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"),
        ("CASSIRSSYEQY", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"),
        ("ASSIRSSYEQYF", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"),
        ("CASSIRSSYEQYFG", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"),
        ("YLCASSIRSSYEQYFGPG", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"),
        ("LCASSIRSSYEQYF", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"),
        ("CASSIRSSYEQY", None, None, "CASSIRSSYEQYF"),
        # The F before the conserved one is no end.
        ("CASSLGNTEAF", "TRBV19", "TRBJ1-1", "CASSLGNTEAFF"),
        ("ASSLGNTEAF", "TRBV19", "TRBJ1-1", "CASSLGNTEAFF"),
        ("ASSLGNTEAF", None, None, "CASSLGNTEAFF"),
        # The J gene is another than the one that is named.
        ("CASSIRSSYEQY", "TRBV19", "TRBJ1-1", "CASSIRSSYEQYF"),
        # TRBJ2-7*02 ends in V.
        ("CASSIRSSYEQYV", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYV"),
        # Nothing agrees with the germline: a CDR3 without its ends, unless it starts with C.
        ("ASSIRSSQ", "TRBV19", "TRBJ2-7", "CASSIRSSQF"),
        ("CASSIRSSQ", "TRBV19", "TRBJ2-7", None),
        ("CASSIRSSYEQYY", "TRBV19", "TRBJ2-7", None),
        ("YASSIRSSYEQYF", "TRBV19", "TRBJ2-7", None),
    ],
)
def test_junction_by_content(sequence, v_call, j_call, expected):
    problem = None if expected else CUT_SHORT if sequence.startswith("C") else REPLACED
    assert complete_junction(sequence, v_call, j_call, "TRB", HUMAN) == (expected, problem)


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        # Six residues with the ends that it lacks, and seven.
        ("KYF", None),
        ("ASSL", None),
        ("SLGY", None),
        ("CYEQY", None),
        ("YEQYF", None),
        ("SSLGT", "CSSLGTF"),
        ("CSYEQY", "CSYEQYF"),
        ("SYEQYF", "CSYEQYF"),
        ("SYEQYFGPG", "CSYEQYF"),
        # Nothing is added: it is as short as it is.
        ("CAF", "CAF"),
        ("CYEQYF", "CYEQYF"),
        ("CYEQYFG", "CYEQYF"),
        ("YLCYEQYFGPG", "CYEQYF"),
    ],
)
@pytest.mark.parametrize(("v_call", "j_call"), [("TRBV19", "TRBJ2-7"), (None, None)])
def test_an_end_is_added_only_to_what_is_long_enough_to_be_a_cdr3(sequence, expected, v_call, j_call):
    problem = None if expected else TOO_SHORT
    assert complete_junction(sequence, v_call, j_call, "TRB", HUMAN) == (expected, problem)


@needs_shared
@needs_vdjdb
def test_the_shortest_junction_that_is_completed_is_that_of_real_ones():
    lengths = Counter()
    # The same five contigs are there as CSV and as JSON.
    twice = "10x_bmmnc_all_contig_annotations_small.json"
    for path in (SHARED / "vdjdb/vdjdb_full_2023-06-01.txt.gz", *(SHARED / "formats").iterdir()):
        if path.name == twice:
            continue
        for batch in reading.open_chains(path).batches:
            good, _ = standardise(batch.chains, HUMAN)
            whole = good.filter(pc.equal(good["junction_aa"], pc.utf8_upper(good["junction_aa_raw"])))
            lengths.update(pc.utf8_length(whole["junction_aa"]).to_pylist())
    assert lengths.total() == 114_083
    assert sum(n for length, n in lengths.items() if length < MIN_COMPLETED) == 12
    assert sum(n for length, n in lengths.items() if length <= MIN_COMPLETED) == 44


def test_conserved_ends_of_alpha_chains_that_are_not_f():
    assert complete_junction("CAVYFGNVLHC", "TRAV8-3", "TRAJ35*01", "TRA", HUMAN) == ("CAVYFGNVLHC", None)
    assert complete_junction("AVMDSNYQLI", "TRAV8-3", "TRAJ33*01", "TRA", HUMAN) == ("CAVMDSNYQLIW", None)
    assert complete_junction("CAASRGSNNRLTL", None, "TRAJ7*01", "TRA", "musmusculus") == (
        "CAASRGSNNRLTL",
        None,
    )


@needs_shared
@pytest.mark.parametrize(
    ("damage", "with_j", "expected"),
    [
        (lambda whole: whole[1:-1], True, {"right": 60_105, "wrong": 21, "left out": 9}),
        (lambda whole: whole[1:-1], False, {"right": 60_103, "wrong": 22, "left out": 10}),
        (lambda whole: whole[:-1], True, {"right": 58_117, "wrong": 1405, "left out": 613}),
        (lambda whole: whole + "G", True, {"right": 59_537, "left out": 598}),
    ],
)
def test_damaged_junctions_of_a_real_repertoire_are_mended(damage, with_j, expected):
    """
    Junctions of a bulk sample whose ends are cut or prolonged.

    The wrong ones end in F or W by chance, and nearly all of those left out have a J gene of which
    no residue but the conserved one is left.
    """
    found = Counter()
    with gzip.open(SHARED / "formats/vdjtools_M_15_CD8_TRB.txt.gz", "rt") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            whole = row["cdr3aa"]
            if not re.fullmatch("C[ACDEFGHIKLMNPQRSTVWY]+[FW]", whole):
                continue
            v_call = read_call(row["v"], "V", HUMAN).symbol
            j_call = read_call(row["j"], "J", HUMAN).symbol if with_j else None
            mended, _ = complete_junction(damage(whole), v_call, j_call, "TRB", HUMAN)
            found["left out" if mended is None else "right" if mended == whole else "wrong"] += 1
    assert found == expected


def test_a_junction_is_plain_where_no_j_gene_goes_on():
    sequences = ["CASSIRSSYEQYF", "CAVMDSNYQLIW", "CASSLGNTEAF", "CASSLGNTEAFF", "ASSF", "CASX", None]
    assert is_complete(pa.array(sequences)).to_pylist() == [True, True, False, True, False, False, False]


@pytest.mark.parametrize("j_call", ["TRAJ33*01", "TRAJ35*01", "TRAJ24*02", "TRAJ38*01"])
def test_cdr3_without_ends_is_completed_as_by_tidytcells(j_call):
    before = j_anchors(j_call, "TRA", HUMAN)[0].before
    sequence = f"AVR{before[-6:]}"
    expected = tidytcells.junction.standardize(sequence, j_symbol=j_call)
    assert complete_junction(sequence, "TRAV1-2", j_call, "TRA", HUMAN) == (expected, None)
