"""The receptor_id: stored values, the documented rule, and equality across formats."""

import hashlib

from airrvec.core import identity

import pyarrow as pa
import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    DATA,
    NO_CHAIN,
    SCEPTR_COLUMNS,
    normalised,
    normalised_text,
    receptor_id,
    sceptr_row,
    text,
)


def test_receptor_id_is_the_stored_one():
    # Stored: a change here changes the keys of every table that users have.
    keys = ["homosapiens|" + "|".join((*ALPHA, *BETA)), "homosapiens|||||" + "|".join(BETA[1:])]
    ids = identity.digests(pa.array(keys))
    assert ids.to_pylist() == ["97d9de9638e90e38f968250f", hashlib.sha256(keys[1].encode()).hexdigest()[:24]]
    assert len(set(identity.id_prefixes(ids).tolist())) == 2
    receptors = normalised(DATA / "airr_bulk.tsv").receptors
    assert receptors["receptor_id"].to_pylist() == [
        "c51e41efdd9eba27664330e3",
        "ff88788d639ce56a9d72df73",
        "4ec0fde21afbb44d72a370e8",
    ]
    assert receptors["clonotype_id"].to_pylist() == [  # the first names alleles, the third the same genes
        "4ec0fde21afbb44d72a370e8",
        "036e933cc223d26465eee60c",
        "4ec0fde21afbb44d72a370e8",
    ]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.[ct]sv")), ids=lambda path: path.name)
def test_receptor_id_follows_the_documented_rule(path):
    receptors = normalised(path).receptors.to_pylist()
    fields = ("tra_v_call", "tra_j_call", "tra_junction_aa", "trb_v_call", "trb_j_call", "trb_junction_aa")
    for receptor in receptors:
        expected = receptor_id(receptor["species"], *(receptor[name] for name in fields))
        assert receptor["receptor_id"] == expected
        genes = [(receptor[name] or "").split("*")[0] for name in fields]
        assert receptor["clonotype_id"] == receptor_id(receptor["species"], *genes)


def test_receptor_id_is_equal_across_formats_files_and_row_orders(tmp_path):
    ids = {
        normalised(DATA / name).receptors["receptor_id"][0].as_py()
        for name in (
            "airr_single_cell.tsv",
            "vdjdb_full.tsv",
            "vdjdb_export.tsv",
            "sceptr.tsv",
            "tcrdist.csv",
        )
    }
    assert ids == {receptor_id("homosapiens", *ALPHA, *BETA)}
    header, *lines = (DATA / "sceptr.tsv").read_text().splitlines()
    shuffled = normalised_text(tmp_path / "x.tsv", "\n".join([header, *reversed(lines)]))
    assert shuffled.cells["receptor_id"].to_pylist() == list(
        reversed(normalised(DATA / "sceptr.tsv").cells["receptor_id"].to_pylist())
    )


def test_receptor_id_tells_apart_what_differs_in_one_field(tmp_path):
    rows = [
        sceptr_row(ALPHA, BETA),
        sceptr_row(ALPHA),
        sceptr_row(NO_CHAIN, BETA),
        sceptr_row((ALPHA[0], None, ALPHA[2]), BETA),
        sceptr_row((None, *ALPHA[1:]), BETA),
        sceptr_row((*ALPHA[:2], ALPHA_2[2]), BETA),
        sceptr_row((ALPHA[0].split("*")[0], *ALPHA[1:]), BETA),
        sceptr_row(ALPHA, BETA, "an epitope is no part of it"),
    ]
    ids = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows)).cells["receptor_id"].to_pylist()
    assert len(set(ids)) == 7
    assert ids[0] == ids[-1]
