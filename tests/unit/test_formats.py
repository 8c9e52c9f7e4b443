"""Formats of other programs than 10x and of other databases than VDJdb: one hand-written table a layout."""

import csv
import re
import tempfile
from collections import Counter
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import text_table
from airrvec.input.formats import registry

import pytest
from format_tables import MISSING, NOT_A_CELL, NOT_AB, NOT_PRODUCTIVE, OUT_OF_FRAME, STOP, alone, columns_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    PAIR,
    assert_conserved,
    chains_of,
    genes_only,
    normalised,
    normalised_text,
    rejected,
    text,
)

REPEAT = "repeats another row: the same chain of the same cell"
EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"

NO_CHAIN_IN_ROW = "the row holds no chain"
NEITHER = "locus, v_call and j_call are missing"

OTHER_SPECIES = "the species is not one that airrvec reads"


def no_genes(chain: tuple) -> tuple:
    return (None, None, chain[2])


TABLES = {
    "10x_dextramer.csv": (
        "10x_dextramer",
        [
            (*no_genes(ALPHA), *no_genes(BETA)),
            *[(*no_genes(ALPHA_2), *no_genes(BETA_2))] * 2,  # it binds two dextramers
            (*NO_CHAIN, *no_genes(BETA_2)),
            (*no_genes(ALPHA_2), *no_genes(BETA)),
            (*NO_CHAIN, *no_genes(BETA)),
        ],
        [*[(2, "junction_aa", ALPHA[2], EXTRA)] * 2, (5, None, None, NO_CHAIN_IN_ROW)],
    ),
    "vdjtools.tsv": (
        "vdjtools",
        [alone(*genes_only(BETA)), alone("TRBV20-1", None, BETA_2[2])],
        [
            (3, "junction_aa", "CASSE_GTEAFF", OUT_OF_FRAME),
            (4, "junction_aa", None, MISSING),
            (5, "junction_aa", "CASS*TEAFF", STOP),
        ],
    ),
    "immunoseq.tsv": (
        "immunoseq",
        [alone(*BETA), alone(*genes_only(BETA_2)), alone("TRBV12-3*01", *BETA[1:])],
        [(4, "productive", "false", NOT_PRODUCTIVE), (5, "productive", "false", NOT_PRODUCTIVE)],
    ),
    "immunoseq_v2.tsv": (
        "immunoseq",
        [alone(*BETA), alone(*ALPHA_2)],
        [(3, "productive", "false", NOT_PRODUCTIVE)],
    ),
    "mixcr.tsv": (
        "mixcr",
        [alone(*genes_only(BETA)), alone("TRAV14/DV4", "TRAJ31", ALPHA_2[2])],
        [
            (3, "junction_aa", "CASSE_GTEAFF", OUT_OF_FRAME),
            (4, "junction_aa", "CASS*TEAFF", STOP),
            (5, "locus", "IGH", NOT_AB),
        ],
    ),
    "mixcr_old.tsv": ("mixcr", [alone(*genes_only(BETA)), alone(*ALPHA_2)], []),
    "bd.csv": (
        "bd",
        [PAIR, alone(*BETA_2)],
        [
            (4, "locus", "TRG", NOT_AB),
            (5, "is_cell", "false", NOT_A_CELL),
            (6, "locus", "IGK", NOT_AB),
            (7, "productive", "false", NOT_PRODUCTIVE),
        ],
    ),
    "bd_dominant.csv": ("bd", [PAIR, alone(*BETA_2)], [(4, "locus", "IGH", NOT_AB)]),
    "bd_cells.csv": (
        "bd",
        [PAIR, alone(*BETA_2)],
        [(3, "locus", "TRD", NOT_AB), (3, "locus", "TRG", NOT_AB), (4, None, None, NO_CHAIN_IN_ROW)],
    ),
    "tcrdist_beta.csv": (
        "tcrdist",
        [alone(*BETA), alone(*BETA_2)],
        [(3, "junction_aa", None, MISSING)],
    ),
    "conga.tsv": (
        "conga",
        [PAIR, (*ALPHA_2, *BETA_2), alone(*ALPHA)],
        [(2, "junction_aa", ALPHA[2], EXTRA)],
    ),
    "conga_results.tsv": ("conga", [PAIR, (*ALPHA_2, *BETA_2)], []),
    "scirpy_obs.csv": ("scirpy", [PAIR, alone(*BETA_2)], [(3, None, None, NO_CHAIN_IN_ROW)]),
    "immunarch.tsv": (
        "immunarch",
        # The last clonotype has two junctions and one V gene, which is not told whose it is.
        [PAIR, alone(*BETA_2), (None, None, ALPHA_2[2], None, None, BETA_2[2])],
        [(3, "junction_aa", "CASS*TEAFF", STOP)],
    ),
    "vdjdb_release.tsv": (
        "vdjdb",
        [PAIR, alone(*BETA_2), alone(*ALPHA_2), alone(*BETA)],
        [(6, "species", "MacacaMulatta", OTHER_SPECIES)],
    ),
    "clustcr.csv": (
        "clustcr",
        [alone(BETA[0], None, BETA[2]), alone(BETA_2[0], None, BETA_2[2])],
        [(3, "locus", None, NEITHER)],
    ),
    "immrep.csv": ("immrep", [PAIR, (*ALPHA_2, *BETA_2), (*ALPHA_2, *BETA)], []),
    "mixtcrpred.csv": (
        "mixtcrpred",
        [PAIR, (*ALPHA_2, *BETA_2)],
        [(3, "species", "Macaque", OTHER_SPECIES)] * 2,
    ),
    "tcr_pmhc_analyzer.tsv": ("mixtcrpred", [PAIR, PAIR, alone(*BETA_2)], []),
    "immrep_2022.tsv": ("immrep", [PAIR, (*ALPHA_2, *BETA_2)], []),
    "mcpas.csv": (
        "mcpas",
        [PAIR, alone(*genes_only(BETA_2)), alone(ALPHA_2[0], None, ALPHA_2[2])],
        [(4, None, None, NO_CHAIN_IN_ROW), (5, "species", "Macaque", OTHER_SPECIES)],
    ),
    "iedb.csv": (
        "iedb",
        [PAIR, alone(*BETA_2)],
        [
            (3, "locus", "TRD", NOT_AB),
            (3, "locus", "TRG", NOT_AB),
            (4, "species", "NCBITaxon_9544", OTHER_SPECIES),
            (5, None, None, NO_CHAIN_IN_ROW),
        ],
    ),
    "trust4.tsv": (
        "trust4",
        [PAIR, alone(*BETA_2)],
        [
            (1, "junction_aa", "CSARDSYEQYF", EXTRA),
            (1, "junction_aa", "out_of_frame", OUT_OF_FRAME),
            (3, "junction_aa", None, MISSING),
            (4, "locus", "TRD", NOT_AB),
            (4, "locus", "TRG", NOT_AB),
            (5, None, None, NO_CHAIN_IN_ROW),
        ],
    ),
    "parse.tsv": (
        "parse",
        [PAIR, alone(*BETA_2)],
        [(1, "junction_aa", "CSARDSYEQYF", EXTRA), (3, None, None, NO_CHAIN_IN_ROW)],
    ),
    "mixcr_groups.tsv": (
        "mixcr_groups",
        [(*genes_only(ALPHA), *genes_only(BETA)), alone(*genes_only(BETA_2))],
        [(1, "junction_aa", "CSARDSYEQYF", EXTRA), (3, None, None, NO_CHAIN_IN_ROW)],
    ),
    "screpertoire.csv": (
        "screpertoire",
        [
            (*genes_only(ALPHA), *genes_only(BETA)),
            alone(*genes_only(BETA_2)),
            (*genes_only(ALPHA), *genes_only(BETA)),
        ],
        [(3, "junction_aa", ALPHA_2[2], EXTRA), (4, None, None, NO_CHAIN_IN_ROW)],
    ),
    "clc.csv": (
        "clc",
        [alone(*genes_only(BETA)), alone(*genes_only(ALPHA_2))],
        [(3, "productive", "false", NOT_PRODUCTIVE), (4, "productive", "false", NOT_PRODUCTIVE)],
    ),
    "iggytop.csv": ("iggytop", [PAIR, alone(*BETA_2)], [(3, "species", "Macaca mulatta", OTHER_SPECIES)]),
    "tirtl.tsv": (
        "tirtl",
        [PAIR, (*ALPHA_2, *BETA_2)],
        [(2, "junction_aa", ALPHA[2], REPEAT), (2, "junction_aa", BETA[2], REPEAT)],
    ),
}


def contents(name: str) -> tuple[list[list[str]], list[list[str]], str]:
    """Rows of the header, rows of data, and the delimiter of a hand-written table."""
    reader, delimiter = reading.FORMATS[TABLES[name][0]], "," if name.endswith(".csv") else "\t"
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.reader(lines, delimiter=delimiter))
    n = max(getattr(reader, "HEADER_ROWS", (1,)))
    return rows[:n], rows[n:], delimiter


@pytest.mark.parametrize("name", TABLES)
def test_hand_written_table(name):
    format, receptors, rejects = TABLES[name]
    result = normalised(DATA / name)
    assert result.counts["format"] == format
    assert chains_of(result) == receptors
    assert sorted(rejected(result), key=str) == sorted(rejects, key=str)
    assert_conserved(result, len(contents(name)[1]))


@pytest.mark.parametrize("name", TABLES)
def test_the_first_format_that_fits_the_header_is_its_own(name):
    header = text_table.read_header(DATA / name)
    fits = [
        reader.NAME
        for reader in reading.FORMATS.values()
        if any(
            set(layout) <= set(header.names(rows))
            for layout in reader.LAYOUTS
            for rows in getattr(reader, "HEADER_ROWS", (1,))
        )
        and not registry.unexpected_columns(reader, header)
    ]
    assert fits[0] == TABLES[name][0]
    assert fits[1:] == (["conga"] if name in ("tirtl.tsv", "tcr_pmhc_analyzer.tsv") else [])


def test_no_layout_lies_within_the_columns_of_a_format_that_is_tried_later():
    for place, reader in enumerate(reading.FORMATS.values()):
        columns = {name for layout in reader.LAYOUTS for name in layout} | set(reader.OPTIONAL)
        others = list(reading.FORMATS.values())[:place]
        assert not [other.NAME for other in others for layout in other.LAYOUTS if set(layout) <= columns]


@pytest.mark.parametrize("name", TABLES)
def test_order_of_rows_and_columns_and_further_columns_do_not_matter(name):
    header, rows, delimiter = contents(name)
    expected = Counter(TABLES[name][1])

    @settings(max_examples=25, deadline=None)
    @given(seed=st.randoms(use_true_random=False), extra=st.text("abc é", max_size=3))
    def check(seed, extra):
        closed = getattr(reading.FORMATS[TABLES[name][0]], "CLOSED", False)
        more = [] if closed else [extra]
        lines = [[*line, *more] for line in [*header, *seed.sample(rows, len(rows))]]
        order = seed.sample(range(len(lines[0])), len(lines[0]))
        first, *others = ([line[column] for column in order] for line in lines)
        with tempfile.TemporaryDirectory() as folder:
            result = normalised_text(Path(folder) / "x", text(first, others, delimiter))
        assert Counter(chains_of(result)) == expected
        assert_conserved(result, len(rows))

    check()


@pytest.mark.parametrize("name", TABLES)
def test_any_column_that_no_layout_needs_may_be_missing(name, tmp_path):
    header, rows, delimiter = contents(name)
    reader = reading.FORMATS[TABLES[name][0]]
    joined = [" ".join(cells) for cells in zip(*header, strict=True)]
    for column, column_name in enumerate(joined):
        first, *others = (line[:column] + line[column + 1 :] for line in [*header, *rows])
        left = {other for other in joined if other != column_name}
        content = text(first, others, delimiter)
        if any(set(layout) <= left for layout in reader.LAYOUTS):
            assert_conserved(normalised_text(tmp_path / "x", content), len(rows))
        else:
            with pytest.raises(InputError, match=re.escape(column_name)):
                normalised_text(tmp_path / "x", content, reader.NAME)


@pytest.mark.parametrize("prefix", ["IR_", ""])
@pytest.mark.parametrize("old", [False, True])
def test_names_of_scirpys_columns_by_version(prefix, old, tmp_path):
    content = (DATA / "scirpy_obs.csv").read_text().replace("IR_", prefix)
    if old:
        for new, name in {"junction_aa": "cdr3", "v_call": "v_gene", "j_call": "j_gene"}.items():
            content = content.replace(f"_{new}", f"_{name}")
    assert chains_of(normalised_text(tmp_path / "x", content)) == TABLES["scirpy_obs.csv"][1]


def test_old_names_of_immunarch(tmp_path):
    content = (DATA / "immunarch.tsv").read_text()
    names = {
        "CDR3.aa": "CDR3.amino.acid.sequence",
        "V.name": "V.gene",
        "J.name": "J.gene",
        "Clones": "Read.count",
    }
    for name, old in names.items():
        content = content.replace(name, old, 1)
    result = normalised_text(tmp_path / "x", content)
    assert chains_of(result) == TABLES["immunarch.tsv"][1]
    assert columns_of(result, "duplicate_count") == [(5,), (3,), (1,)]
