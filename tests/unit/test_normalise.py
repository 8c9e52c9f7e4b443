"""Standardising, pairing, identities, and that no row is ever lost."""

import gzip
import hashlib
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import tidytcells
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    ROOT,
    SCEPTR_COLUMNS,
    SHARED,
    assert_conserved,
    cells_with_chains,
    chains_of,
    needs_vdjdb,
    normalised,
    normalised_text,
    receptor_id,
    rejected,
    sceptr_row,
    text,
)

from airrvec.core import identity, schema
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import Normaliser

EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
AIRR_COLUMNS = ("cell_id", "v_call", "j_call", "junction_aa", "umi_count", "duplicate_count")


# --- Standardising: tidytcells, called plainly for every row, is the reference.


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
    # The first gene of a family is not functional (TRBV7), or the allele is not one (TRBJ2-1*0).
    "kept for its genes": 77,
    # TRAV38*01: a family has no alleles.
    "another gene": 1,
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
    kept = iter(chains_of(result))
    found = [
        (*NO_CHAIN, *NO_CHAIN) if row in rejected_rows else next(kept) for row in range(1, len(table) + 1)
    ]
    differences = Counter()
    for theirs, ours in zip(expected, found, strict=True):
        for side in (0, 3):
            differences[difference(theirs[side : side + 3], ours[side : side + 3])] += 1
    assert differences.pop(None) == 2 * 41_819 - sum(VDJDB_DIFFERENCES.values())
    assert dict(differences) == VDJDB_DIFFERENCES
    assert sum(row != (*NO_CHAIN, *NO_CHAIN) for row in expected) == 39_338
    assert sum(row != (*NO_CHAIN, *NO_CHAIN) for row in found) == len(result.cells) == 39_290


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


# --- Pairing.

# scirpy's words: rows are numbers of α chains, columns numbers of β chains, from 0 to 3.
SCIRPY = [
    [None, "orphan VDJ", "orphan VDJ", "multichain"],
    ["orphan VJ", "single pair", "extra VDJ", "multichain"],
    ["orphan VJ", "extra VJ", "two full chains", "multichain"],
    ["multichain", "multichain", "multichain", "multichain"],
]


@pytest.mark.parametrize("n_alpha", range(4))
@pytest.mark.parametrize("n_beta", range(4))
def test_pairing_has_the_words_of_scirpy(n_alpha, n_beta, tmp_path):
    # Other chains of the cell, none of them productive, change nothing.
    rows = [("cell", *ALPHA, 5, n, "T") for n in range(n_alpha)]
    rows += [("cell", *BETA, 5, n, "T") for n in range(n_beta)]
    rows += [("cell", *ALPHA_2, 9, 9, "F"), ("other", *BETA_2, 1, 1, "T")]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR_COLUMNS, "productive"), rows))
    words = dict(
        zip(result.cells["cell_id"].to_pylist(), result.cells["chain_pairing"].to_pylist(), strict=True)
    )
    assert words.get("cell") == SCIRPY[n_alpha][n_beta]
    assert words["other"] == "orphan VDJ"
    n_kept = min(n_alpha, 1) + min(n_beta, 1)
    extra = [row for row, _field, _value, reason in rejected(result) if reason == EXTRA]
    assert len(extra) == n_alpha + n_beta - n_kept
    assert_conserved(result, n_alpha + n_beta + 2)


def test_receptors_are_called_by_the_chains_they_keep():
    receptors = normalised(DATA / "airr_single_cell.tsv").receptors
    assert receptors["chain_pairing"].to_pylist() == ["single pair", "orphan VDJ", "orphan VDJ"]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ((1, 100), (2, 1), "second"),  # UMIs come before reads
        ((2, 1), (1, 100), "first"),
        ((3, 10), (3, 20), "second"),  # reads decide among equal UMIs
        ((3, 20), (3, 10), "first"),
        ((3, 10), (3, 10), "first"),  # the first among equals
        ((None, 10), (None, 20), "second"),
        ((None, 99), (0, None), "second"),  # a number, even 0, comes before none
        ((None, None), (None, None), "first"),
        ((2, 10), (10, 2), "second"),  # as numbers, not as words
    ],
)
def test_the_chain_with_more_umis_then_reads_then_the_first_is_kept(first, second, kept, tmp_path):
    rows = [("cell", *ALPHA, 1, 1), ("cell", *BETA, *first), ("cell", *BETA_2, *second)]
    result = normalised_text(tmp_path / "x.tsv", text(AIRR_COLUMNS, rows))
    best, other = (2, 3) if kept == "first" else (3, 2)
    chains = {2: BETA, 3: BETA_2}
    assert chains_of(result) == [(*ALPHA, *chains[best])]
    assert rejected(result) == [(other, "junction_aa", chains[other][2], EXTRA)]
    counts = {2: first, 3: second}[best]
    assert result.cells["umi_count"].to_pylist() == [1 + (counts[0] or 0)]
    assert result.cells["duplicate_count"].to_pylist() == [1 + (counts[1] or 0)]


def test_cells_come_in_the_order_of_the_input(tmp_path):
    names = [f"cell {(number * 37) % 50}" for number in range(50)]
    # The β chains come in another order than the α chains, which decide.
    rows = [(name, *ALPHA, 1, 1) for name in names] + [(name, *BETA, 1, 1) for name in sorted(names)]
    result = normalised_text(tmp_path / "x.tsv", text(AIRR_COLUMNS, rows))
    assert result.cells["cell_id"].to_pylist() == names
    assert result.counts["pairing"] == {"single pair": 50}


def test_the_count_of_a_row_with_both_chains_is_the_rows(tmp_path):
    columns = (*SCEPTR_COLUMNS, "duplicate_count")
    rows = [[*sceptr_row(ALPHA, BETA), 7], [*sceptr_row(ALPHA, ("TRBV1", *BETA[1:])), 5]]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert result.cells["duplicate_count"].to_pylist() == [7, 5]


# --- Identity.


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


# --- Any table at all: rows are conserved, orders do not matter, damage is an InputError.

ANY_TABLE = settings(max_examples=40, deadline=None, derandomize=True)

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=12)
JUNCTIONS = st.one_of(
    st.from_regex(r"C[ACDEFGHIKLMNPQRSTVWY]{2,15}F", fullmatch=True),
    st.sampled_from(
        ["CASSF", "cassf", "CAS*F", "CAS_F", "CASXF", "C" * 61, "C" * 200, "ASS", "", "None", "1"]
    ),
    WORDS,
)


def genes(locus: str, segment: str) -> st.SearchStrategy:
    valid = {
        "TRAV": ["TRAV1-1*01", "TRAV14DV4", "TRAV12-2"],
        "TRAJ": ["TRAJ24*01", "TRAJ35"],
        "TRBV": ["TRBV2*01", "trbv20-1", "TRBV28*02"],
        "TRBJ": ["TRBJ1-1*01", "TRBJ2-7"],
    }[locus + segment]
    broken = ["", "None", "TRBV1", "TRAV99", "IGHV3-23*01", "TRAV1-1*01", "TRBJ1-1*01", "TRDV1", "*"]
    return st.one_of(st.sampled_from(valid), st.sampled_from(valid), st.sampled_from(broken), WORDS)


def chain(locus: str) -> list[st.SearchStrategy]:
    return [genes(locus, "V"), genes(locus, "J"), JUNCTIONS]


BOTH = [*chain("TRA"), *chain("TRB")]
EITHER = [st.one_of(*pair) for pair in zip(chain("TRA"), chain("TRB"), strict=True)]
CELL = st.sampled_from(["a", "b", "c", "", "ü"])
LOCUS = st.sampled_from(["TRA", "TRB", "IGH", "tra", "Multi", "", "x"])
FLAG = st.sampled_from(["True", "true", "T", "False", "F", "", "?"])
SPECIES = st.sampled_from(["HomoSapiens", "MusMusculus", "MacacaMulatta", "", "human"])
CHAINS = {"TRA": list(ALPHA), "TRB": list(BETA)}

# Columns; what may stand in them; a row that is surely kept. A "#" is filled with a number of the row.
LAYOUTS = {
    "airr": (
        ["v_call", "j_call", "junction_aa", "cell_id", "locus", "productive", "umi_count"],
        [*EITHER, CELL, LOCUS, FLAG, st.just("#")],
        [*ALPHA, "sure", "TRA", "T", "#"],
    ),
    "10x": (
        ["v_gene", "j_gene", "cdr3", "barcode", "chain", "is_cell", "umis"],
        [*EITHER, CELL, LOCUS, FLAG, st.just("#")],
        [*BETA, "sure", "TRB", "true", "#"],
    ),
    "vdjdb": (
        ["v.alpha", "j.alpha", "cdr3.alpha", "v.beta", "j.beta", "cdr3.beta", "species", "antigen.epitope"],
        [*BOTH, SPECIES, WORDS],
        [*ALPHA, *BETA, "HomoSapiens", "sure"],
    ),
    "vdjdb export": (
        ["V", "J", "CDR3", "Gene", "complex.id", "Species", "Epitope"],
        [*EITHER, LOCUS, st.sampled_from(["0", "#"]), SPECIES, WORDS],
        [*BETA, "TRB", "0", "HomoSapiens", "sure"],
    ),
    "sceptr": (
        ["TRAV", "TRAJ", "CDR3A", "TRBV", "TRBJ", "CDR3B", "Epitope"],
        [*BOTH, WORDS],
        [*ALPHA, *BETA, "sure"],
    ),
    "tcrdist": (
        ["v_a_gene", "j_a_gene", "cdr3_a_aa", "v_b_gene", "j_b_gene", "cdr3_b_aa", "clone_id", "count"],
        [*BOTH, WORDS, st.sampled_from(["#", "-1", "1e3", "many", ""])],
        [*ALPHA, *NO_CHAIN, "sure", "1"],
    ),
}
# The needed columns come first: a row that reaches them all, and no more, is filled up.
NEEDED = {"airr": 3, "10x": 5, "vdjdb": 6, "vdjdb export": 7, "sceptr": 6, "tcrdist": 6}


def filled(layout: str, row: list) -> list | None:
    """A row as it is read, or None where it does not fit the header."""
    n_columns = len(LAYOUTS[layout][0])
    return row + [""] * (n_columns - len(row)) if NEEDED[layout] <= len(row) <= n_columns else None


@st.composite
def table_rows(draw, layout: str) -> list[list]:
    columns, cells, sure = LAYOUTS[layout]
    rows = draw(st.lists(st.tuples(*cells).map(list), max_size=10))
    rows.insert(draw(st.integers(0, len(rows))), list(sure))
    rows = [
        [str(number) if cell == "#" else cell for cell in row] for number, row in enumerate(rows, start=1)
    ]
    ragged = st.lists(WORDS, min_size=1, max_size=12).filter(lambda row: len(row) != len(columns))
    for row in draw(st.lists(ragged, max_size=3)):
        rows.insert(draw(st.integers(0, len(rows))), row)
    return rows


def normalised_rows(layout: str, columns: list[str], rows: list[list], pack=bytes):
    delimiter = "," if layout in ("10x", "tcrdist") else "\t"
    with tempfile.TemporaryDirectory() as folder:
        content = text(columns, rows, delimiter).encode()
        return normalised_text(Path(folder) / "table", pack(content))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_conserved_whatever_they_hold(layout):
    columns = LAYOUTS[layout][0]

    @ANY_TABLE
    @given(rows=table_rows(layout), pack=st.sampled_from([bytes, gzip.compress]))
    def check(rows, pack):
        result = normalised_rows(layout, columns, rows, pack)
        assert_conserved(result, len(rows))
        malformed = {number for number, row in enumerate(rows, start=1) if filled(layout, row) is None}
        n_short = sum(len(row) < len(columns) for row in rows if filled(layout, row))
        assert result.counts["rows_filled"] == n_short
        reasons = {
            row: reason for row, _field, _value, reason in rejected(result) if "fields, the header" in reason
        }
        assert reasons == {
            row: f"holds {len(rows[row - 1])} fields, the header {len(columns)}" for row in malformed
        }
        assert all(chains[2] or chains[5] for chains in chains_of(result))

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_order_of_rows_and_columns_does_not_change_the_receptors(layout):
    columns = LAYOUTS[layout][0]

    @ANY_TABLE
    @given(rows=table_rows(layout), seed=st.randoms(use_true_random=False))
    def check(rows, seed):
        row_order = seed.sample(range(len(rows)), len(rows))
        column_order = seed.sample(range(len(columns)), len(columns))
        permuted = [
            [whole[column] for column in column_order] if (whole := filled(layout, rows[row])) else rows[row]
            for row in row_order
        ]
        one = normalised_rows(layout, columns, rows)
        other = normalised_rows(layout, [columns[column] for column in column_order], permuted)
        ids = [sorted(result.cells["receptor_id"].to_pylist()) for result in (one, other)]
        assert ids[0] == ids[1]
        assert one.counts["pairing"] == other.counts["pairing"]
        assert one.counts["rows_rejected"] == other.counts["rows_rejected"]

    check()


@pytest.mark.parametrize("path", sorted(DATA.glob("*.[ct]sv")), ids=lambda path: path.name)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_damaged_bytes_are_read_or_an_input_error_and_nothing_else(path, pack):
    whole = pack(path.read_bytes())
    place = st.integers(0, len(whole))
    damage = st.one_of(
        st.binary(max_size=8),
        st.sampled_from([b"\xff", b'"', b"\n", b"\r", b"\0", b"\t", b",", b"\xef\xbb\xbf"]),
    )

    @ANY_TABLE
    @given(edits=st.lists(st.tuples(place, st.integers(0, 40), damage), min_size=1, max_size=4))
    def check(edits):
        content = whole
        for start, length, new in edits:
            content = content[:start] + new + content[start + length :]
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = normalised_text(Path(folder) / "table", content)
            except InputError as error:
                message = str(error)
            else:
                message = "."
                assert_conserved(result, result.counts["rows_in"])
        assert message.endswith(".")
        assert "\n" not in message

    check()


# --- Loss.


def loss_of_a_third(path):
    rows = [sceptr_row(ALPHA, BETA), sceptr_row(ALPHA_2), sceptr_row(alpha=("TRAV1-1", None, "CA*F"))]
    path.write_text(text(SCEPTR_COLUMNS, rows))
    return path


def test_a_loss_above_five_per_cent_is_a_warning(tmp_path):
    result = normalised(loss_of_a_third(tmp_path / "x.tsv"))
    warning = "33.3 % of the rows rejected (1 × junction_aa holds a stop codon (*))"
    assert result.counts["warnings"] == [warning]
    assert normalised(ROOT / "assets/demo/dash_human.csv").counts["warnings"] == []


@pytest.mark.parametrize("limit", [33.4, 33.3])
def test_a_loss_above_the_limit_is_an_error(tmp_path, limit):
    source = reading.open_chains(loss_of_a_third(tmp_path / "x.tsv"))
    normaliser = Normaliser(sample_id="s", species="homosapiens", max_rejected=limit)
    if limit > 100 / 3:
        assert sum(len(part.cells) for part in normaliser.parts(source)) == 2
    else:
        with pytest.raises(
            InputError, match=r"s: 33.3 % of the rows were rejected, more than the 33.3 % that"
        ):
            list(normaliser.parts(source))


# --- Cells with several chains.


def cell_with(n_alpha: int, n_beta: int) -> list[tuple]:
    """Rows of a 10x table: one cell, its chains in falling order of UMIs, told apart by their junctions."""
    rows = [("TRA", *ALPHA[:2], f"CA{'G' * number}F", 9 - number) for number in range(n_alpha)]
    rows += [("TRB", *BETA[:2], f"CS{'G' * number}F", 9 - number) for number in range(n_beta)]
    return [("c1", locus, v, j, junction, umis) for locus, v, j, junction, umis in rows]


@pytest.mark.parametrize("n_alpha", range(4))
@pytest.mark.parametrize("n_beta", range(4))
@pytest.mark.parametrize("multichain", ["split", "drop"])
def test_cells_with_several_chains_are_split_or_dropped(tmp_path, n_alpha, n_beta, multichain):
    single = [("c0", "TRA", *ALPHA, 1), ("c2", "TRB", *BETA, 1)]
    rows = [single[0], *cell_with(n_alpha, n_beta), single[1]]
    columns = ("barcode", "chain", "v_gene", "j_gene", "cdr3", "umis")
    result = normalised_text(tmp_path / "x.csv", text(columns, rows, ","), multichain=multichain)
    found = [
        (cell["tra_junction_aa"], cell["trb_junction_aa"], cell["umi_count"])
        for cell in cells_with_chains(result)
        if cell["cell_id"] == "c1"
    ]
    alphas, betas = (
        [(row[4], row[5]) for row in rows if row[:2] == ("c1", locus)] for locus in ("TRA", "TRB")
    )
    pairs = [(*a, *b) for a in alphas or [(None, 0)] for b in betas or [(None, 0)] if alphas or betas]
    if multichain == "drop" and max(n_alpha, n_beta) > 1:
        assert found == []
        reason = "its cell has more than one α or β chain, and such cells are dropped"
        assert result.counts["reject_reasons"] == {reason: n_alpha + n_beta}
    else:
        assert found == [(a, b, a_umis + b_umis) for a, a_umis, b, b_umis in pairs]
        assert result.counts["reject_reasons"] == {}
    assert_conserved(result, len(rows))
