"""HLA: typings and labels as alleles, and what a donor can present."""

import numpy as np
import pandas as pd
import pytest

from airrvec.annotation import reference_set, restriction
from airrvec.core import hla
from airrvec.core.errors import InputError
from airrvec.input.hla_names import checked_typing

TYPINGS = [
    ("A*02:01;A*24:02;B*07:02", "A*02:01;A*24:02;B*07:02"),
    ("HLA-A*02:01", "A*02:01"),
    ("hla-a*02:01", "A*02:01"),
    ("A*02", "A*02"),
    ("A*2", "A*02"),
    ("A*0201", "A*02:01"),
    ("A0201", "A*02:01"),
    ("A*02:01:01:01, A*24:02:01:02L", "A*02:01;A*24:02"),
    ("A*02:01P+A*02:01:01G", "A*02:01"),
    ("A*02:01;24:02;B*07:02;08:01", "A*02:01;A*24:02;B*07:02;B*08:01"),
    ("A1,26;B8,51;Cw7,15", "A*01;A*26;B*08;B*51;C*07;C*15"),
    ("A2 B7 DR4", "A*02;B*07;DRB1*04"),
    ("Cw*07:01", "C*07:01"),
    ("C*07", "C*07"),
    ("A203", "A*02:03"),  # an associated antigen
    ("DR103", "DRB1*01:03"),
    ("A9", "A*23;A*24"),  # a broad serotype
    ("A*28", "A*68;A*69"),  # the same in the spelling of alleles
    ("B62;B60", "B*15;B*40"),
    ("DR17", "DRB1*03"),
    ("DR52", "DRB3"),
    ("DQ8", "DQB1*03:02;DQB1*03:05"),
    ("DP4", "DPB1*04:01;DPB1*04:02"),
    ("DPB*01:01", "DPB1*01:01"),
    ("DRB1*07:01/07:03", "DRB1*07:01;DRB1*07:03"),
    ("B*51/B*52", "B*51;B*52"),
    ("A*02:XX", "A*02"),
    ("H-2b", "H2-Kb;H2-Db;H2-Lb;H2-IAb;H2-IEb"),
    ("H-2Kb;Db", "H2-Kb;H2-Db"),
    ("", ""),
]


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


# typing, MHC of an epitope, verdict
VERDICTS = [
    ("A*02:01", "HLA-A*02:01", "allowed"),
    ("A*02:01;A*24:02", "HLA-A*24:02", "allowed"),
    ("A*01:01;A*24:02", "HLA-A*02:01", "excluded"),
    ("A*02:06", "HLA-A*02:01", "excluded"),
    ("A*02:06", "HLA-A*02", "allowed"),  # the coarser of the two decides
    ("A*02", "HLA-A*02:01", "allowed"),
    ("A2", "HLA-A*02:01", "allowed"),
    ("A*02:01", "HLA-A2", "allowed"),
    ("A3", "HLA-A2", "excluded"),
    ("A*24:02", "HLA-A9", "allowed"),
    ("A9", "HLA-A*24:02", "allowed"),
    ("A9", "HLA-A*02:01", "excluded"),
    ("A*02:01", "HLA-A*02:01:48", "allowed"),  # two fields
    ("A*02:01:02", "HLA-A*02:01:48", "allowed"),
    ("A*02:01P", "HLA-A*02:09", "excluded"),  # in the P group of A*02:01, whose members no package lists
    ("A*02:01:01G", "HLA-A*02:01", "allowed"),
    ("A*02:01;B*07:02", "HLA-B*07:02", "allowed"),
    ("A*02:01", "HLA-B*07:02", "unknown"),  # B is not typed
    ("A*02:01", "HLA-C*07:02", "unknown"),
    ("A*02:01", None, "unknown"),
    ("A*02:01", "HLA class I", "unknown"),
    ("A*02:01", "HLA-A", "unknown"),
    ("A*02:01", "MR1", "unknown"),
    ("A*02:01", "Mamu-A*01", "unknown"),
    ("", "HLA-A*02:01", "unknown"),
    ("A*24:09N;A*01:01", "HLA-A*24", "excluded"),  # not expressed
    ("A*24:02L", "HLA-A*24:02", "allowed"),
    ("A*24:09N", "HLA-A*02:01", "excluded"),  # the locus is typed
    ("A*02:01;A*02:XX", "HLA-A*02:06", "allowed"),
    ("Cw7", "HLA-C*07:02", "allowed"),
    ("B62", "HLA-B*15:01", "allowed"),
    ("B12", "HLA-B*44:03:08", "allowed"),
    ("B*44", "HLA-B*12", "allowed"),
    ("B*07", "HLA-B*12", "excluded"),
    # Class II: the chains that vary and are typed.
    ("DRB1*04:01", "HLA-DRA*01/HLA-DRB1*04:01", "allowed"),
    ("DR4", "HLA-DRA*01:01/HLA-DRB1*04:01", "allowed"),
    ("DRB1*15:01", "HLA-DRA*01:01/HLA-DRB1*04:01", "excluded"),
    ("DRB1*15:01", "HLA-DRB1*04:05/HLA-DRA*01:01", "excluded"),
    ("DRB1*15:01", "HLA-DRA*01:01/HLA-DRB5*01:01", "unknown"),
    ("DR51", "HLA-DRA*01:01/HLA-DRB5*01:01", "allowed"),
    ("A*02:01", "HLA-DRA*01/HLA-DRB1*04:01", "unknown"),
    ("DRB1*04:01", "HLA-DR4", "allowed"),
    ("DRB1*04:01", "HLA-DR", "unknown"),
    ("DPB1*04:01", "HLA-DPA1*01:03/HLA-DPB1*04:01", "allowed"),
    ("DPA1*02:01;DPB1*04:01", "HLA-DPA1*01:03/HLA-DPB1*04:01", "excluded"),
    ("DPA1*01:03;DPB1*04:01", "HLA-DPA*01:03/HLA-DPB*04:01", "allowed"),
    ("DPB1*02:01", "HLA-DPA*01:03/HLA-DPB*04:01", "excluded"),
    ("DQB1*02:01", "HLA-DQA1*05:01/HLA-DQB1*02:01", "allowed"),
    ("DQ2", "HLA-DQA1*05:01/HLA-DQB1*02:01", "allowed"),
    ("DQ8", "HLA-DQA1*05:01/HLA-DQB1*02:01", "excluded"),
    ("DQA1*05:01", "HLA-DQA1*05:01/HLA-DQB1*02:01", "allowed"),
    ("DRB1*15:01", "HLA-DQA1*05:01/HLA-DQB1*02:01", "unknown"),
    # Several molecules, of which one suffices.
    ("A*03:01", "HLA-A*02:01, HLA-A*03:01", "allowed"),
    ("A*01:01", "HLA-A*02:01,HLA-A*03:01", "excluded"),
    ("A*01:01", "HLA-A*02:01;HLA-B*07:02", "unknown"),
    # Mouse
    ("H-2b", "H-2Kb", "allowed"),
    ("H2b", "H-2Db", "allowed"),
    ("H-2d", "H-2Kb", "excluded"),
    ("H-2d/b", "H-2Kb", "allowed"),
    ("H-2Kd", "H-2Db", "unknown"),
    ("H-2b", "H2-IAb", "allowed"),
    ("H-2b", "H-2Aa", "unknown"),  # a gene
    ("H-2b", "HLA-A*02:01", "unknown"),
    ("A*02:01", "H-2Kb", "unknown"),
]


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


def test_molecules_of_an_epitope_are_those_of_enough_references_or_studies():
    found = {
        epitope: [hla.molecule_text(molecule) for molecule in molecules]
        for epitope, molecules in restriction.epitope_molecules(ALLELES).items()
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
    allowed, verdicts = restriction.allowed_epitopes(
        hla.parse_typing("A*02:06;A*11:01"), epitopes, restriction.epitope_molecules(ALLELES)
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
