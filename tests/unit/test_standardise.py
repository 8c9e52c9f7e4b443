"""Standardised genes and junctions; tidytcells, called plainly for every row, is the reference."""

from collections import Counter

from airrvec.core import schema

import pandas as pd
import pytest
import tidytcells
from inputs import (
    ALPHA,
    BETA,
    DATA,
    NO_CHAIN,
    ROOT,
    SCEPTR_COLUMNS,
    SHARED,
    assert_conserved,
    chains_of,
    needs_vdjdb,
    normalised,
    normalised_text,
    rejected,
    sceptr_row,
    text,
)


def plain_gene(call, species: str, locus: str, segment: str) -> tuple[bool, str | None]:
    """Whether the call lets the chain pass, and its name."""
    if pd.isna(call):
        return True, None
    symbol = tidytcells.tr.standardize(call, species=species, enforce_functional=True, log_failures=False)
    return symbol is not None and symbol.startswith(f"{locus}{segment}"), symbol


def plain_chain(v_call, j_call, junction, species: str, locus: str) -> tuple:
    """A standardised chain, or three Nones where it cannot be kept."""
    if pd.isna(junction) or len(junction) > 60:
        return NO_CHAIN
    # An end in C is kept where the J gene has it.
    j_symbol = j_call if junction.endswith("C") and str(j_call).startswith("TRAJ35") else None
    standardised = tidytcells.junction.standardize(junction, j_symbol=j_symbol, log_failures=False)
    (v_passes, v_call), (j_passes, j_call) = (
        plain_gene(call, species, locus, segment) for call, segment in ((v_call, "V"), (j_call, "J"))
    )
    return (v_call, j_call, standardised) if standardised and v_passes and j_passes else NO_CHAIN


def plain_rows(table: pd.DataFrame, columns: tuple[str, ...]) -> list[tuple]:
    rows = []
    for species, *fields in table[["species", *columns]].itertuples(index=False, name=None):
        known = species in ("HomoSapiens", "MusMusculus")
        chains = [
            plain_chain(*fields[side : side + 3], species.lower(), locus) if known else NO_CHAIN
            for side, locus in ((0, "TRA"), (3, "TRB"))
        ]
        rows.append((*chains[0], *chains[1]))
    return rows


def difference(theirs: tuple, ours: tuple) -> str | None:
    """How two readings of a chain, or of a row, differ."""
    if theirs == ours:
        return None
    if set(ours) == {None}:
        return "left out for its junction"
    if set(theirs) == {None}:
        return "kept for its genes"
    genes = [field for field in range(len(ours)) if field % 3 < 2]
    return "another gene" if any(theirs[n] != ours[n] for n in genes) else "another junction"


def test_dash_is_standardised_as_by_tidytcells():
    path = ROOT / "assets/demo/dash_human.csv"
    table = pd.read_csv(path, dtype=str).assign(species="HomoSapiens")
    columns = ("v_a_gene", "j_a_gene", "cdr3_a_aa", "v_b_gene", "j_b_gene", "cdr3_b_aa")
    expected, found = plain_rows(table, columns), chains_of(normalised(path))
    assert len(found) == len(expected)
    # Two α chains without J gene end as TRAJ35 does: CAVAPTGNVLHC, CLVGGIGFGNVLHC.
    differences = Counter(map(difference, expected, found))
    assert differences == {None: len(table) - 2, "another junction": 2}


# How the chains of VDJdb that we read differ from those that tidytcells reads, and in how many.
VDJDB_DIFFERENCES = {
    # An end is missing or has germline residues beyond it, where tidytcells adds both ends:
    # CASSIRSSYEQY, CASSIRSSYEQYFG → CASSIRSSYEQYF, for CCASSIRSSYEQYF, CCASSIRSSYEQYFGF; and it leaves
    # CASSLGNTEAF, which we read as CASSLGNTEAFF.
    "another junction": 2613,
    # It starts with C and is cut short, CASSSGQLTNTE, or its C is another residue, where tidytcells adds
    # both ends: CCASSSGQLTNTEF.
    "left out for its junction": 166,
    # The first gene of a family is not functional (TRBV7), the allele is not one (TRBJ2-1*0), or an en dash
    # is in the name of a gene whose family has none (11).
    "kept for its genes": 90,
    # TRAJ58 115, TRBJ1-6 of mouse 88, …: J genes alone, as VDJdb does not say what is productive.
    "kept with an open reading frame": 257,
    # 66 with an en dash, of which tidytcells reads what is before it (TRBV7–9 as TRBV7-1); TRAV38*01: a
    # family has no alleles.
    "another gene": 67,
}


@needs_vdjdb
def test_all_of_vdjdb_is_standardised_as_by_tidytcells_but_for_listed_differences():
    path = SHARED / "vdjdb/vdjdb_full_2023-06-01.txt.gz"
    table = pd.read_csv(path, sep="\t", dtype=str)
    assert len(table) == 41_819
    columns = ("v.alpha", "j.alpha", "cdr3.alpha", "v.beta", "j.beta", "cdr3.beta")
    # A blank after a junction, which tidytcells refuses, is trimmed by the readers.
    expected = plain_rows(table.apply(lambda column: column.str.strip()), columns)
    result = normalised(path)
    assert_conserved(result, 41_819)
    rejects = result.rejects.to_pandas()
    rejected_rows = set(rejects["row"][~rejects["row_kept"]])
    kept = iter(zip(chains_of(result), result.cells["orf_calls"].to_pylist(), strict=True))
    nothing = ((*NO_CHAIN, *NO_CHAIN), None)
    cells = [nothing if row in rejected_rows else next(kept) for row in range(1, len(table) + 1)]
    found = [cell[0] for cell in cells]
    differences = Counter()
    for theirs, (ours, frames) in zip(expected, cells, strict=True):
        for side, locus in ((0, "tra"), (3, "trb")):
            kind = difference(theirs[side : side + 3], ours[side : side + 3])
            if locus in (frames or ""):
                assert kind == "kept for its genes"
                kind = "kept with an open reading frame"
            differences[kind] += 1
    assert differences.pop(None) == 2 * 41_819 - sum(VDJDB_DIFFERENCES.values())
    assert dict(differences) == VDJDB_DIFFERENCES
    assert sum(row != (*NO_CHAIN, *NO_CHAIN) for row in expected) == 39_338
    assert sum(row != (*NO_CHAIN, *NO_CHAIN) for row in found) == len(result.cells) == 39_346


@pytest.mark.parametrize(
    ("field", "raw", "standardised"),
    [
        (0, "TRAV14DV4", "TRAV14/DV4"),
        (0, "trav1-1*01", "TRAV1-1*01"),
        (0, "TRAV1-1*01 F", "TRAV1-1*01"),
        (0, "TCRAV01-01", "TRAV1-1"),
        (0, "TRAV1-1*01,TRAV1-2*01", "TRAV1-1*01"),
        (0, "Homsap TRAV1-1*01 (F), or Homsap TRAV1-2*01 (F)", "TRAV1-1*01"),
        (0, "TRAV1-1*00(1083.5),TRAV1-2*00(1083.5)", "TRAV1-1"),
        (0, "TCRAV01-01/01-02*01", "TRAV1-1*01"),
        (0, "TRAV14-DV4", "TRAV14/DV4"),
        (0, "TCRAV14-01/DV04", "TRAV14/DV4"),
        (0, "TRAV1-1:01", "TRAV1-1*01"),
        (0, "TRAV1-1*99", "TRAV1-1"),
        (0, "TRAV8-5,TRAV8-4", "TRAV8-4"),
        (0, "TRAV38", "TRAV38-1"),
        (1, "TRAJ24", "TRAJ24"),
        (2, "cavrdswgklqf", "CAVRDSWGKLQF"),
        (2, "AVRDSWGKLQ", "CAVRDSWGKLQF"),
        (2, "CAVRDSWGKLQ", "CAVRDSWGKLQF"),
        (2, "AVRDSWGKLQF", "CAVRDSWGKLQF"),
        (2, "CAVRDSWGKLQFG", "CAVRDSWGKLQF"),
        (2, "YFCAVRDSWGKLQFGAG", "CAVRDSWGKLQF"),
        (2, " CAVRDSWGKLQF ", "CAVRDSWGKLQF"),
        (2, "CAVRDSWGKLQW", "CAVRDSWGKLQW"),
    ],
)
def test_spelling_is_standardised(field, raw, standardised, tmp_path):
    chain = list(ALPHA)
    chain[field] = raw
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, [sceptr_row(chain, BETA)]))
    chain[field] = standardised
    assert chains_of(result) == [(*chain, *BETA)]
    assert len(result.rejects) == 0


@pytest.mark.parametrize("word", ["HomoSapiens", "human", "Homo sapiens", "HUMAN", None])
def test_species_is_the_rows_own_else_the_default(word, tmp_path):
    content = text((*SCEPTR_COLUMNS, "species"), [[*sceptr_row(NO_CHAIN, BETA), word]])
    default = "homosapiens" if word is None else "musmusculus"
    result = normalised_text(tmp_path / "x.tsv", content, species=default)
    assert result.receptors["species"].to_pylist() == ["homosapiens"]


def test_genes_are_those_of_the_species(tmp_path):
    mouse_only = ("TRBV13-2*01", "TRBJ2-1*01", "CASGEQFF")
    content = text(SCEPTR_COLUMNS, [sceptr_row(NO_CHAIN, mouse_only), sceptr_row(NO_CHAIN, BETA)])
    assert normalised_text(tmp_path / "x.tsv", content, species="musmusculus").receptors[
        "trb_v_call"
    ].to_pylist() == ["TRBV13-2*01", "TRBV2*01"]
    assert rejected(normalised(tmp_path / "x.tsv")) == [
        (1, "v_call", "TRBV13-2*01", "v_call is not a V gene listed by IMGT")
    ]


def test_metadata_become_columns_of_cells(tmp_path):
    metadata = {"tissue": "blood", "donor": None}
    cells = normalised(DATA / "sceptr.tsv", metadata=metadata, sample_id="x").cells
    assert cells.column_names == [*schema.CELLS.names, "tissue", "donor"]
    assert (
        cells.select(["sample_id", "tissue", "donor"]).to_pylist()
        == [{"sample_id": "x", "tissue": "blood", "donor": None}] * 3
    )
