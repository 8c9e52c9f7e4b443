"""Receptors that training and test share are found, and similar ones leave the test set."""

from dataclasses import replace

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.evaluation import fewshot
from airrvec.evaluation.heldout.splits import Split, check_leaks, study_split

import numpy as np
import pyarrow as pa
import pytest
from labelled_studies import CELLS, STUDY, labelled


def test_a_leak_is_found():
    split = study_split(labelled(CELLS), **STUDY)
    assert check_leaks(split) == split.test
    # Of another epitope, which is as much of a leak.
    leaking = replace(split, test={**split.test, "A": np.append(split.test["A"], split.train["B"][0])})
    receptor_id = split.labelled.receptors["receptor_id"][int(split.train["B"][0])].as_py()
    with pytest.raises(InputError, match=rf"in training and in test: 1, the first is {receptor_id}"):
        check_leaks(leaking)


# The training receptor, and the identity of others to it by hand: 2, 4, 5 edits of 20 residues.
TRAINED = ("TRAV1*01", "CAVVVVVVVF", "TRBV2*01", "CASSSSSSSF")
OTHERS = [
    (("TRAV1*01", "CAVVVVVVKF", "TRBV2*01", "CASSSSSSKF"), 0.9),
    (("TRAV1*02", "CAVVVVVVKF", "TRBV2", "CASSSSSSKF"), 0.9),  # another allele of the gene
    (("TRAV1*01", "CAVVVVVKKF", "TRBV2*01", "CASSSSSKKF"), 0.8),
    (("TRAV1*01", "CAVVVVKKKF", "TRBV2*01", "CASSSSSKKF"), 0.75),
    (("TRAV1*01", "CAVVVVVVF", "TRBV2*01", "CASSSSSSF"), 0.89),  # 2 edits of its own 18 residues
    (("TRAV10*01", "CAVVVVVVVF", "TRBV2*01", "CASSSSSSSF"), 0),
    (("TRAV1*01", "CAVVVVVVVF", "TRBV3*01", "CASSSSSSSF"), 0),
]


@pytest.mark.parametrize("similarity", [0.75, 0.8, 0.85, 0.9, 1.0])
def test_similar_receptors_leave_the_test_set(similarity):
    fields = ("tra_v_call", "tra_junction_aa", "trb_v_call", "trb_junction_aa")
    chains = [TRAINED, *(chain for chain, _ in OTHERS), ("TRAV9", "CF", "TRBV9", "CF")]
    rows = [
        {"receptor_id": str(number), "clonotype_id": str(number), **dict(zip(fields, chain, strict=True))}
        for number, chain in enumerate(chains)
    ]
    table = fewshot.LabelledReceptors(pa.Table.from_pylist(rows, schema.RECEPTORS), {}, {})
    tests = np.arange(1, len(OTHERS) + 1)
    none = np.array([], int)
    split = Split(
        table,
        # The similar training receptor is another epitope's.
        train={"A": np.array([len(chains) - 1]), "B": np.array([0])},
        validation={"A": none, "B": none},
        test={"A": tests[::2], "B": tests[1::2]},
        removed={},
        left_out={},
    )
    kept = [number for number, (_, identity) in enumerate(OTHERS, 1) if identity < similarity]
    filtered = check_leaks(split, similarity)
    assert filtered["A"].tolist() == [number for number in kept if number % 2]
    assert filtered["B"].tolist() == [number for number in kept if not number % 2]
