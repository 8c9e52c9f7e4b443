"""Real files of other programs, counted once more with pandas alone."""

import re

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.standardise import UNPROVEN_FRAME

import pandas as pd
import pytest
import tidytcells
from format_tables import NOT_A_CELL, NOT_AB, NOT_PRODUCTIVE, OUT_OF_FRAME, STOP, alone, columns_of
from inputs import DATA, SHARED, assert_conserved, cells_with_chains, chains_of, needs_shared, normalised

PSEUDOGENE = "v_call is a pseudogene according to IMGT"
# Whose V genes are open reading frames; VDJtools does not say what is productive.
FRAMES = {"TRBV23-1", "TRBV5-3", "TRBV5-7", "TRBV6-7", "TRBV7-1"}

REPLACED = "junction_aa has another residue in place of its C"
TOO_SHORT = "junction_aa lacks a conserved end and is too short to be a CDR3"
CUT_SHORT = "junction_aa starts with C but does not end as a junction does"


def standard(call: str, *, functional: bool = True) -> str | None:
    """A gene's name, as tidytcells says it."""
    return tidytcells.tr.standardize(
        call, species="homosapiens", enforce_functional=functional, log_failures=False
    )


@needs_shared
def test_vdjtools_file_of_others():
    path = SHARED / "formats/vdjtools_M_15_CD8_TRB.txt.gz"
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    genes = {call: standard(call) for column in "vj" for call in table[column].unique()}
    stop = table["cdr3aa"].str.contains("*", regex=False)
    shifted = table["cdr3aa"].str.contains("_") & ~stop
    result = normalised(path)
    rejects = result.rejects.to_pandas().set_index("row")
    # How these are counted is plain_count.py's.
    cut_short, replaced = (
        pd.Series(table.index + 1).isin(rejects.index[rejects["reason"] == reason])
        for reason in (CUT_SHORT, REPLACED)
    )
    assert table["cdr3aa"][cut_short].str.fullmatch("C.*[^FW]").all()
    assert table["cdr3aa"][replaced].str.fullmatch("[^C].*").all()
    too_short = table["cdr3aa"] == "FGYTF"
    lost = stop | shifted | cut_short | replaced | too_short
    useless = table["v"].map(genes).isna() & ~lost
    frames = useless & table["v"].isin(FRAMES)
    kept = table[~lost & ~useless]
    # All J genes are functional, and all V genes that are not are known; no other letter occurs.
    assert table["j"].map(genes).notna().all()
    assert all(standard(call, functional=False) for call in table["v"].unique())
    assert kept["cdr3aa"].str.fullmatch("[ACDEFGHIKLMNPQRSTVWY]{1,60}").all()

    assert result.counts["reject_reasons"] == {
        OUT_OF_FRAME: int(shifted.sum()),
        STOP: int(stop.sum()),
        PSEUDOGENE: int((useless & ~frames).sum()),
        UNPROVEN_FRAME: int(frames.sum()),
        CUT_SHORT: int(cut_short.sum()),
        REPLACED: int(replaced.sum()),
        TOO_SHORT: int(too_short.sum()),
    }
    assert result.counts["reject_reasons"] == {
        OUT_OF_FRAME: 2509,
        STOP: 1069,
        PSEUDOGENE: 324,
        UNPROVEN_FRAME: 338,
        CUT_SHORT: 416,
        REPLACED: 562,
        TOO_SHORT: 1,
    }
    assert result.counts["pairing"] == {"orphan VDJ": len(kept)} == {"orphan VDJ": 62_019}
    found = [
        (cell["trb_v_call"], cell["trb_j_call"], cell["duplicate_count"])
        for cell in cells_with_chains(result)
    ]
    assert found == list(
        zip(kept["v"].map(genes), kept["j"].map(genes), kept["count"].astype(int), strict=True)
    )
    junctions = pd.Series([chains[5] for chains in chains_of(result)], index=kept.index)
    assert (junctions != kept["cdr3aa"]).sum() == 160
    assert junctions.str.fullmatch("C.*[FWV]").all()
    assert_conserved(result, 67_238)


def adaptive_v_call(row: pd.Series) -> str:
    """The first gene that the row names, as far as it is resolved, in Adaptive's words."""
    for name in ("v_resolved", "v_gene", "v_gene_ties"):
        gene = re.match(r"(TCRBV\d\d-\d\d)(?:/\d\d-\d\d)?(\*\d\d)?(,|$)", row[name])
        if gene:
            return gene[1] + (gene[2] or "")
    raise AssertionError(row)


@needs_shared
def test_immunoseq_file_of_others():
    path = SHARED / "formats/immunoseq_Adaptive2020.tsv"
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    productive = table[table["frame_type"] == "In"]
    assert (table["frame_type"].isin(["Out", "Stop"]) == (table["frame_type"] != "In")).all()
    calls = productive.apply(adaptive_v_call, axis=1)
    v_calls = calls.map({call: standard(call) for call in calls.unique()})
    # The gene is taken where IMGT does not know the allele.
    v_calls = v_calls.where(
        calls.map({call: standard(call, functional=False) is not None for call in calls.unique()}),
        calls.str.split("*").str[0].map(standard),
    )
    j_calls = productive["j_resolved"].map(standard)
    assert j_calls.notna().all()
    kept = v_calls.notna()

    result = normalised(path)
    assert result.counts["reject_reasons"] == {
        NOT_PRODUCTIVE: len(table) - len(productive),
        PSEUDOGENE: int((~kept).sum()),
    }
    assert result.counts["reject_reasons"] == {NOT_PRODUCTIVE: 178, PSEUDOGENE: 7}
    assert result.counts["pairing"] == {"orphan VDJ": int(kept.sum())} == {"orphan VDJ": 814}
    cells = cells_with_chains(result)
    assert [(cell["trb_v_call"], cell["trb_j_call"], cell["duplicate_count"]) for cell in cells] == list(
        zip(v_calls[kept], j_calls[kept], productive["templates"][kept].astype(int), strict=True)
    )
    # A sequence without both conserved ends is another test's.
    sequences = productive["amino_acid"][kept].tolist()
    whole = [number for number, sequence in enumerate(sequences) if re.fullmatch("C[A-Z]+[FW]", sequence)]
    assert len(whole) == 813
    assert all(cells[number]["trb_junction_aa"] == sequences[number] for number in whole)
    assert_conserved(result, 999)


@needs_shared
def test_immunoseq_v1_file_of_others_holds_one_pseudogene():
    path = SHARED / "formats/immunoseq_v1_tiny.txt"
    table = pd.read_csv(path, sep="\t", dtype=str)
    assert table["v_gene"].tolist() == ["TCRBV01-01"]
    assert standard("TCRBV01-01") is None
    assert standard("TCRBV01-01", functional=False) == "TRBV1"
    (batch,) = reading.open_chains(path).batches
    names = ["v_call", "j_call", "junction_aa", "productive", "duplicate_count"]
    assert batch.chains.select(names).to_pylist() == [
        {
            "v_call": "TCRBV01-01*01",
            "j_call": "TCRBJ02-01*01",
            "junction_aa": "CTCSGDRVDYAEQFF",
            "productive": True,
            "duplicate_count": 654,
        }
    ]
    with pytest.raises(InputError, match=r"1 × v_call is a pseudogene according to IMGT"):
        normalised(path)


@needs_shared
def test_bd_chains_of_others():
    path = SHARED / "formats/bd_per_cell_chain.csv"
    table = pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)
    alpha_or_beta = table["Chain_Type"].isin(["TCR_Alpha", "TCR_Beta"])
    cell = table["Putative"] == "True"
    kept = table[alpha_or_beta & cell]
    assert kept[["Cell_Index", "V_gene", "J_gene", "CDR3_Translation", "Productive"]].to_numpy().tolist() == [
        ["108", "TRAV7*01", "TRAJ39*01", "LVAGNMLT", "True"]
    ]
    result = normalised(path)
    assert chains_of(result) == [alone("TRAV7*01", "TRAJ39*01", "CLVAGNMLTF")]
    assert columns_of(result, "cell_id", "chain_pairing", "duplicate_count", "umi_count") == [
        ("108", "orphan VJ", 6, 1)
    ]
    assert result.counts["reject_reasons"] == {
        NOT_AB: int((~alpha_or_beta).sum()),
        NOT_A_CELL: int((alpha_or_beta & ~cell).sum()),
    }
    assert result.counts["reject_reasons"] == {NOT_AB: 4, NOT_A_CELL: 4}
    assert_conserved(result, 9)


@needs_shared
def test_bd_contigs_of_others_are_of_b_cells_and_refused_with_their_loci():
    path = SHARED / "formats/bd_rhapsody_unfiltered_contigs.csv.gz"
    table = pd.read_csv(path, comment="#", dtype=str)
    assert table["Chain_Type"].value_counts().to_dict() == {
        "BCR_Heavy": 1301,
        "BCR_Kappa": 1160,
        "BCR_Lambda": 531,
    }
    with pytest.raises(
        InputError,
        match=rf"none of the {len(table):,} rows is an α or β .*loci: 1,301 IGH, 1,160 IGK, 531 IGL\)",
    ):
        normalised(path)


def test_trust4_header_may_begin_with_a_number_sign(tmp_path):
    plain = (DATA / "trust4.tsv").read_text()
    (tmp_path / "x.tsv").write_text(f"#{plain}")
    with_sign, without = normalised(tmp_path / "x.tsv"), normalised(DATA / "trust4.tsv")
    assert with_sign.counts == without.counts
    assert with_sign.cells.equals(without.cells)


@pytest.mark.parametrize("name", ["trust4.tsv", "parse.tsv"])
def test_counts_of_a_cells_chains_in_one_row_are_summed(name):
    (batch,) = reading.open_chains(DATA / name).batches
    chains = batch.chains.to_pandas().sort_values("duplicate_count", ascending=False, kind="stable")
    kept = chains.drop_duplicates(["cell_id", "locus"])
    cell = normalised(DATA / name).cells.to_pylist()[0]
    of_cell = kept[kept["cell_id"] == cell["cell_id"]]
    assert set(of_cell["locus"]) == {"TRA", "TRB"}
    assert cell["duplicate_count"] == of_cell["duplicate_count"].sum()
