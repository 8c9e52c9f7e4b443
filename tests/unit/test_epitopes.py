"""Groups of epitopes: each rule in a row, and the groups of VDJdb."""

from itertools import combinations

from airrvec.annotation.merged_reference import epitope_groups

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import SHARED, needs_vdjdb

PAIRS = [
    # one, other, species of both → linked
    ("EAAGIGILTV", "EAAGIGILTV", None, None, True),
    ("EAAGIGILTV", "eaagigiltv ", None, None, True),  # case and blanks
    ("EAAGIGILTV", "ELAGIGILTV", None, None, True),  # one residue
    ("EAAGIGILTV", "ELAGIGILTA", None, None, False),  # two
    ("AAGIGILTV", "EAAGIGILTV", None, None, True),  # one contains the other
    ("AAGIGILTV", "ELAGIGILTV", None, None, False),  # linked by EAAGIGILTV alone
    ("AAGIGILTV", "EAAGIGILTV", "HomoSapiens", "Homo sapiens (human)", True),  # variants only
    ("EAAGIGILTV", "ELAGIGILTV", "HomoSapiens", "homo sapiens", True),
    ("EAAGIGILTV", "ELAGIGILTV", "HomoSapiens", "MusMusculus", False),
    ("EAAGIGILTV", "ELAGIGILTV", "HomoSapiens", None, True),
    ("ALLLLDRLNQ", "LLLDRLNQLE", None, None, True),  # the last eight are the first eight
    ("AALLLLDRLN", "LLLDRLNQLE", None, None, False),  # seven
    ("LLLDRLNQLE", "ALLLLDRLNQ", None, None, True),
    ("CLLLDRLNQLEA", "DLLLDRLNQLEK", None, None, False),  # eight in common, but residues around them differ
    ("GILGFVFT", "GILGFVFTL", None, None, True),
    ("GILGFVF", "GILGFVFTL", None, None, False),  # shorter than eight
    ("GILGFVF", "GILGFVY", None, None, False),
    ("GILGFVFTL + OX(M1)", "GILGFVFTL", None, None, False),  # no plain peptide
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_each_rule(pair):
    one, other, species, other_species, linked = pair
    assert epitope_groups([one, other], [species, other_species]).tolist() == [0, 0 if linked else 1]
    assert epitope_groups([other, one], [other_species, species]).tolist() == [0, 0 if linked else 1]


def test_groups_are_connected_components_numbered_by_first_appearance():
    epitopes = ["GILGFVFTL", "AAGIGILTV", "NLVPMVATV", "ELAGIGILTV", "EAAGIGILTV"]
    assert epitope_groups(epitopes).tolist() == [0, 1, 2, 1, 1]
    assert epitope_groups([]).tolist() == []


def linked(one: str, other: str) -> bool:
    """The rule, place by place, for peptides without species."""
    if one == other:
        return True
    if len(one) == len(other) >= 8 and sum(a != b for a, b in zip(one, other, strict=True)) == 1:
        return True
    for shift in range(-len(other), len(one) + 1):
        both = [(one[at], other[at - shift]) for at in range(len(one)) if 0 <= at - shift < len(other)]
        if len(both) >= 8 and all(a == b for a, b in both):
            return True
    return False


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("AC", min_size=5, max_size=12), max_size=12))
def test_groups_equal_those_of_all_pairs(epitopes):
    group = list(range(len(epitopes)))
    for one, other in combinations(range(len(epitopes)), 2):
        if linked(epitopes[one], epitopes[other]):
            group = [group[one] if number == group[other] else number for number in group]
    order = list(dict.fromkeys(group))
    assert epitope_groups(epitopes).tolist() == [order.index(number) for number in group]


@needs_vdjdb
def test_groups_of_vdjdb():
    path = SHARED / "vdjdb/vdjdb_full_2023-06-01.txt.gz"
    table = pd.read_csv(path, sep="\t", usecols=["antigen.epitope", "antigen.species"])
    species = table.groupby("antigen.epitope")["antigen.species"].agg(lambda words: words.mode().iloc[0])
    groups = pd.Series(epitope_groups(list(species.index), list(species)), index=species.index)
    assert (len(groups), groups.max() + 1) == (1150, 889)
    assert np.bincount(np.bincount(groups))[1:5].tolist() == [741, 110, 20, 5]
    melan_a = groups.index[groups == groups["ELAGIGILTV"]]
    assert sorted(melan_a) == [
        *("AAGIGILTV", "ALGIGILTV", "EAAGIGILTV", "EEAAGIGIL", "EEAAGIGILTVI"),
        *("ELAAIGILTV", "ELAGIGALTV", "ELAGIGILTV"),
    ]
    assert (groups == groups["GILGFVFTL"]).sum() == 2
