"""HLA: typings and labels as alleles, and what a donor can present."""

from itertools import pairwise

from airrvec.annotation import annotator, reference_set
from airrvec.core import hla
from airrvec.core.errors import InputError
from airrvec.input.mhc_names import checked_typing

import numpy as np
import pandas as pd
import pytest
from hla_cases import TYPINGS, VERDICTS


@pytest.mark.parametrize(("text", "expected"), TYPINGS)
def test_a_typing_is_read(text, expected):
    assert checked_typing(text) == expected
    assert checked_typing(expected) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A", "'A' is not an HLA allele"),
        ("A*02:01;unknown", "'unknown' is not"),
        ("02:01", "'02:01' is not"),
        ("DRB1501", "'DRB1501' is not"),  # which of two loci?
        ("A*02:01|A*02:02", "is not an HLA allele"),
        ("A*02G", "'A*02G' is not"),  # a group has two fields at least
        ("A*02:09P", "'A*02:09P' is not an allele that tidytcells lists"),  # a P group has another name
        ("A*24(9)", "'A*24(9)' is not"),
        ("A*24:N", "'A*24:N' is not"),
        ("A*02:XX/03", "'A*02:XX/03' is not"),  # A*03, or A*02:03?
        ("A*99", "'A*99' is not an allele that tidytcells lists. Correct it."),
        ("A*02:9999", "Correct it, or write A*02 if the allele is newer than tidytcells."),
        ("$(touch x)", "'$(touch' is not"),
        ("'; touch x", "''' is not"),
        ("A" * 500, "A…' is not"),
    ],
)
def test_a_word_that_is_no_allele_is_named(text, words):
    with pytest.raises(InputError) as error:
        checked_typing(text)
    assert words in str(error.value)
    assert len(str(error.value)) < 300


def test_a_checked_typing_is_safe_in_a_shell():
    rng = np.random.default_rng(1)
    pieces = ["A*02:01", "B7", "$(x)", "`", "'", '"', ";", "/", "H-2b", "\\", "\n", "*", "-", "N", "DR4"]
    for _ in range(3000):
        try:
            text = checked_typing("".join(rng.choice(pieces, rng.integers(1, 6))))
        except InputError:
            continue
        assert set(text) <= set("ABCDEFGHIKLPQRSTabcdefghijklmnopqrstuvwxyz0123456789*:;/-N")


@pytest.mark.parametrize(("typing", "label", "verdict"), VERDICTS)
def test_what_a_donor_presents(typing, label, verdict):
    assert hla.allows(hla.parse_typing(typing), hla.parse_mhc(label)) == verdict


ALLELES = pd.DataFrame(
    [
        ("GIL", "HLA-A*02", 4058, 1),
        ("GIL", "HLA-A*02:01", 2421, 13),
        ("GIL", "HLA-A*01:01", 1, 1),  # a mistake
        ("GIL", "HLA-A*02:06", 3, 1),  # another; must not hide A*02:01
        ("GTS", "HLA-B*42:01", 47, 1),
        ("GTS", "HLA-B*07:02", 35, 1),
        ("RARE", "HLA-B*57", 10, 1),
        ("RARE", "HLA-B*57:06", 1000, 1),
        ("TWO", "HLA-A*03:01", 990, 1),
        ("TWO", "HLA-A*11:01", 2, 2),
        ("COARSE", "HLA-A*02", 100, 3),
        ("COARSE", "HLA-A*02:06", 2, 1),
        ("ODD", "HLA class I", 5, 2),
        ("SPELLED", "HLA-A2", 3, 1),
        ("SPELLED", "HLA-A*02:01:48", 3, 1),
    ],
    columns=["epitope", "mhc", "n_references", "n_studies"],
)


def test_an_ambiguous_typing_is_any_of_its_alleles_and_no_other():
    """Against a list of plain alleles, each of which is compared alone."""
    rng = np.random.default_rng(5)
    fields = [f"{group}:{allele}" for group in ("02", "03", "24") for allele in ("01", "02", "03", "06")]
    for _ in range(300):
        chosen = rng.choice(fields, rng.integers(1, 5), replace=False).tolist()
        short = f"A*{chosen[0]}"
        for before, allele in pairwise(chosen):
            same = before[:2] == allele[:2] and rng.integers(2)
            short += "/" + (allele[3:] if same else rng.choice([allele, f"A*{allele}"]))
        assert hla.parse_typing(short) == hla.parse_typing(";".join(f"A*{allele}" for allele in chosen))
        for allele in fields:
            verdict = hla.allows(hla.parse_typing(short), hla.parse_mhc(f"HLA-A*{allele}"))
            assert verdict == ("allowed" if allele in chosen else "excluded"), (short, allele)


def test_molecules_of_an_epitope_are_those_of_enough_references_or_studies():
    found = {
        epitope: [hla.molecule_text(molecule) for molecule in molecules]
        for epitope, molecules in annotator.epitope_molecules(ALLELES).items()
    }
    assert found == {
        "GIL": ["A*02:01"],
        "GTS": ["B*07:02", "B*42:01"],
        "RARE": ["B*57:06"],
        "TWO": ["A*03:01", "A*11:01"],
        "COARSE": ["A*02"],
        "SPELLED": ["A*02:01"],
    }


def test_epitopes_that_a_donor_can_present():
    epitopes = pd.Series(["COARSE", "GIL", "GTS", "NEW", "ODD", "TWO"])
    allowed, verdicts = annotator.allowed_epitopes(
        hla.parse_typing("A*02:06;A*11:01"), epitopes, annotator.epitope_molecules(ALLELES)
    )
    assert verdicts.tolist() == ["allowed", "excluded", "unknown", "unknown", "unknown", "allowed"]
    assert allowed.tolist() == [True, False, True, True, True, True]


def test_labels_are_counted_by_receptors_and_studies():
    rows = [
        ("r1", "GIL", "s1", "HLA-A*02:01", "B2M"),
        ("r1", "GIL", "s2", "HLA-A*02:01", None),
        ("r2", "GIL", None, "HLA-A*02:01", "B2M"),
        ("r2", "GIL", None, "HLA-A*01", "B2M"),
        ("r3", "PKY", "s1", "HLA-DRA*01", "HLA-DRB1*04:01"),
        ("r3", "NEW", "s1", None, None),
    ]
    labels = pd.DataFrame(rows, columns=["receptor_id", "epitope", "reference_id", "mhc_a", "mhc_b"])
    assert reference_set.count_alleles(labels).to_numpy().tolist() == [
        ["GIL", "HLA-A*01", 1, 1],
        ["GIL", "HLA-A*02:01", 2, 3],
        ["PKY", "HLA-DRA*01/HLA-DRB1*04:01", 1, 1],
    ]
