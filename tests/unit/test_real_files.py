"""
What becomes of every file of ../shared/data/formats, in numbers.

The numbers stand here as literals. `plain_count`, which shares no code with airrvec, has to come to
them too, and to the same cells and rejects; how the eye can see some of them stands beside each file,
in the shell at ../shared/data/formats.
"""

from collections import Counter
from dataclasses import dataclass, field

from airrvec.core.errors import InputError

import plain_count
import pytest
from inputs import SHARED, assert_conserved, chains_of, needs_shared, normalised

FORMATS = SHARED / "formats"
EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
MISSING = "junction_aa is missing"
LOW_CONFIDENCE = "the contig is of low confidence"
NOT_A_CELL = "the barcode was not called a cell"
NOT_AB = "not an α or β chain of a T-cell receptor"
NOT_PRODUCTIVE = "the chain is not productive"
REPLACED = "junction_aa has another residue in place of its C"
NO_END = "junction_aa starts with C but does not end as a junction does"
TOO_SHORT = "junction_aa lacks a conserved end and is too short to be a CDR3"
OUT_OF_FRAME = "junction_aa is out of frame (_)"
STOP = "junction_aa holds a stop codon (*)"
PSEUDOGENE = "v_call is a pseudogene according to IMGT"
UNPROVEN_FRAME = "v_call is an open reading frame, and the input does not call the chain productive"
V_NOT_KNOWN = "v_call is not a V gene listed by IMGT"

B_CELLS = (
    "s: none of the {:,} rows is an α or β chain of a T-cell receptor (loci: {});"
    " airrvec reads T-cell receptors, not B-cell receptors."
)


@dataclass(frozen=True)
class Expected:
    """What becomes of a file; ``error`` is the whole sentence where no row is kept."""

    rows: int
    kept: int
    rejected: int
    cells: int
    receptors: int
    pairing: dict = field(default_factory=dict)
    reasons: dict = field(default_factory=dict)
    error: str | None = None
    species: str = "homosapiens"
    frames: int = 0


def nothing(rows: int, reasons: dict, error: str) -> Expected:
    """No row is kept."""
    return Expected(rows, 0, rows, 0, 0, reasons=reasons, error=error)


EXPECTED = {
    # zcat … | tail -n +2 | wc -l: 856. Column 6 is TRA (402), TRB (445) or Multi (9, with TRDV genes, all
    # not productive). awk -F, '$6 ~ /TR/ && $12 == "False"': 162. TRAJ58 in column 9 of a productive row: 2,
    # open reading frames: one is the pair of a β chain, one a cell alone.
    # 856 - 9 - 162 - 49 extra = 636 rows in 391 cells: 203 × 2 + 104 + 42 + (16 + 21 + 5) × 2.
    "10x_GSM4475055_C149_filtered_contig_annotations.csv.gz": Expected(
        rows=856,
        kept=636,
        rejected=220,
        cells=391,
        receptors=307,
        frames=2,
        pairing={
            "single pair": 203,
            "orphan VDJ": 104,
            "orphan VJ": 42,
            "extra VJ": 21,
            "extra VDJ": 16,
            "two full chains": 5,
        },
        reasons={NOT_PRODUCTIVE: 162, EXTRA: 49, NOT_AB: 9},
    ),
    # grep -c '"barcode"': 9 contigs. Four are IGH or IGK, one TRB has "is_cell": false, one TRA
    # "high_confidence": false; of …GTACGCCC-1's two other TRA the one with 9 UMIs is kept, not that with 4.
    "10x_all_contig_annotations.json": Expected(
        rows=9,
        kept=2,
        rejected=7,
        cells=2,
        receptors=2,
        pairing={"orphan VJ": 1, "orphan VDJ": 1},
        reasons={NOT_AB: 4, NOT_A_CELL: 1, LOW_CONFIDENCE: 1, EXTRA: 1},
    ),
    # zcat … | cut -d, -f6 | sort | uniq -c: 7002 IGH, 4624 IGK, 3449 IGL, and 4 Multi with IGLV genes.
    "10x_bcr_only_melanoma.csv.gz": nothing(
        15_079, {NOT_AB: 15_079}, B_CELLS.format(15_079, "7,002 IGH, 4,624 IGK, 3,453 IGL")
    ),
    # cut -d, -f1,2,6: five rows, two with FALSE; the others are TRB and TRA of one barcode, TRA of another.
    "10x_bmmnc_all_contig_annotations_small.csv": Expected(
        rows=5,
        kept=3,
        rejected=2,
        cells=2,
        receptors=2,
        pairing={"single pair": 1, "orphan VJ": 1},
        reasons={NOT_A_CELL: 2},
    ),
    # The same five contigs.
    "10x_bmmnc_all_contig_annotations_small.json": Expected(
        rows=5,
        kept=3,
        rejected=2,
        cells=2,
        receptors=2,
        pairing={"single pair": 1, "orphan VJ": 1},
        reasons={NOT_A_CELL: 2},
    ),
    # zcat … | cut -d, -f7 | sort | uniq -c
    "10x_flu_multi_sample.csv.gz": nothing(
        20_000, {NOT_AB: 20_000}, B_CELLS.format(20_000, "10,000 IGH, 5,414 IGK, 4,586 IGL")
    ),
    # zcat … | tail -n +2 | wc -l: 4004. Column 6: 12 Multi. awk -F, '$6 ~ /TR/ && $12 == "False"': 869.
    # Of the productive TRA and TRB 21 have TRAJ58, an open reading frame; awk -F, '$13 ~ /^C.*[^CFW]$/ &&
    # $12 == "True"' are 3: CAFMKHLKGI twice, CASSESYGGLAII. Those in C are TRAJ35's (CAPESFGNVLHC).
    # 4004 - 12 - 869 - 3 - 249 extra = 2871 rows = 1110 × 2 + 205 + 36 + (122 + 53 + 30) × 2.
    "10x_pbmc3_filtered_contig_annotations.csv.gz": Expected(
        rows=4004,
        kept=2871,
        rejected=1133,
        cells=1556,
        receptors=1512,
        frames=21,
        pairing={
            "single pair": 1110,
            "orphan VDJ": 205,
            "extra VJ": 122,
            "extra VDJ": 53,
            "orphan VJ": 36,
            "two full chains": 30,
        },
        reasons={NOT_PRODUCTIVE: 869, EXTRA: 249, NOT_AB: 12, NO_END: 3},
    ),
    # awk -F'\t' '{print NF}': 96 96 94 94 94 94: four rows lack their last two cells. cut -f1,4,24,83: all
    # are of one cell; two have no junction, one is not productive, a TRA and a TRB are left. The TRB, the
    # one whole row, has TRBV12-2, functional in mouse alone.
    "airr_ambiguous_genes.tsv": Expected(
        rows=5,
        kept=2,
        rejected=3,
        cells=1,
        receptors=1,
        pairing={"single pair": 1},
        reasons={MISSING: 2, NOT_PRODUCTIVE: 1},
        species="musmusculus",
    ),
    # cut -f9: IGHV in all 11 rows. That its columns are bad (wrong_name, no sequence_id) does not matter.
    "airr_bad_rearrangement.tsv": nothing(11, {NOT_AB: 11}, B_CELLS.format(11, "11 IGH")),
    # cut -f5 | sort | uniq -c
    "airr_bcr_only.tsv": nothing(158, {NOT_AB: 158}, B_CELLS.format(158, "79 IGH, 41 IGK, 38 IGL")),
    # awk -F'\t' '{print NF}': 15 17
    "airr_extra_rearrangement.tsv": nothing(
        1,
        {"holds 17 fields, the header 15": 1},
        "s: none of the 1 row could be read as a receptor"
        " (1 × holds 17 fields, the header 15; first: row 1, row '').",
    ),
    # cut -f9: IGHV in all 9 rows.
    "airr_good_rearrangement.tsv": nothing(9, {NOT_AB: 9}, B_CELLS.format(9, "9 IGH")),
    # cut -f5,17: made from B cells; the genes are IGHV3-49*03 with TRA for IGH, which IMGT does not know.
    "airr_rearrangement_tra.tsv": nothing(
        4,
        {V_NOT_KNOWN: 4},
        "s: none of the 4 rows could be read as a receptor"
        " (4 × v_call is not a V gene listed by IMGT; first: row 1, v_call 'TRAV3-49*03').",
    ),
    # cut -f5,17: locus TRB, genes IGKV.
    "airr_rearrangement_trb.tsv": nothing(
        4,
        {V_NOT_KNOWN: 4},
        "s: none of the 4 rows could be read as a receptor (4 × v_call is not a V gene listed by IMGT;"
        " first: row 1, v_call 'IGKV1-33*01,IGKV1D-33*01').",
    ),
    # cut -d, -f2,12: 3 TCR_Gamma, 1 TCR_Delta, 5 TCR_Alpha, of which one has Putative True.
    "bd_per_cell_chain.csv": Expected(
        rows=9,
        kept=1,
        rejected=8,
        cells=1,
        receptors=1,
        pairing={"orphan VJ": 1},
        reasons={NOT_AB: 4, NOT_A_CELL: 4},
    ),
    # zcat … | grep -v '^##' | cut -d, -f2 | sort | uniq -c
    "bd_rhapsody_unfiltered_contigs.csv.gz": nothing(
        2992, {NOT_AB: 2992}, B_CELLS.format(2992, "1,301 IGH, 1,160 IGK, 531 IGL")
    ),
    # cut -f6 | sort | uniq -c: 821 In, 161 Out, 17 Stop. grep -w In: 6 with TCRBV21-01, 1 with TCRBV07-05,
    # both pseudogenes; 2 with TCRBV06-02*02, an allele that IMGT does not list: TRBV6-2.
    "immunoseq_Adaptive2020.tsv": Expected(
        rows=999,
        kept=814,
        rejected=185,
        cells=814,
        receptors=814,
        pairing={"orphan VDJ": 814},
        reasons={NOT_PRODUCTIVE: 178, PSEUDOGENE: 7},
    ),
    # One row; TRBV1 is a pseudogene.
    "immunoseq_v1_tiny.txt": nothing(
        1,
        {PSEUDOGENE: 1},
        "s: none of the 1 row could be read as a receptor"
        " (1 × v_call is a pseudogene according to IMGT; first: row 1, v_call 'TCRBV01-01*01').",
    ),
    # tail -n +2 | cut -d, -f4-9 | sort -u | wc -l: 391
    "labelled_dash_human.csv": Expected(
        rows=415, kept=415, rejected=0, cells=415, receptors=391, pairing={"single pair": 415}
    ),
    # awk -F'\t' '$4 ~ /\*/': 1069; '$4 ~ /_/ && $4 !~ /\*/': 2509. Of the others '$4 ~ /^C/ && $4 !~ /[FW]$/'
    # are 2800: 2380 of TRBJ2-7 in YV, as TRBJ2-7*02 ends (kept, but for 73 with a pseudogene), 23 in Y, which
    # the J gene's F follows, and 397. Of TRBJ2-7 a quarter ends in V, of others hardly any: it is an allele.
    # $5 ~ /V(1|3-2|5-[237]|6-7|7-[15]|12-1|21-1|23-1)$/ are 684, 13 of them among the 397; those of
    # /V(5-[37]|6-7|7-1|23-1)$/ are open reading frames, and VDJtools does not say what is productive.
    # One is FGYTF, too short to be completed.
    "vdjtools_M_15_CD8_TRB.txt.gz": Expected(
        rows=67_238,
        kept=62_019,
        rejected=5219,
        cells=62_019,
        receptors=61_022,
        pairing={"orphan VDJ": 62_019},
        reasons={
            OUT_OF_FRAME: 2509,
            STOP: 1069,
            UNPROVEN_FRAME: 338,
            PSEUDOGENE: 324,
            REPLACED: 562,
            NO_END: 416,
            TOO_SHORT: 1,
        },
    ),
}


@needs_shared
def test_every_file_is_counted():
    assert sorted(path.name for path in FORMATS.iterdir()) == sorted(EXPECTED)


@needs_shared
@pytest.mark.parametrize("name", EXPECTED)
def test_plain_count(name):
    expected = EXPECTED[name]
    found = plain_count.count(FORMATS / name, expected.species)
    names = ("rows", "kept", "rejected", "cells", "receptors", "pairing", "reasons")
    assert {key: found[key] for key in names} == {key: getattr(expected, key) for key in names}


@needs_shared
@pytest.mark.parametrize("name", [name for name in EXPECTED if not EXPECTED[name].error])
def test_counts_cells_and_rejects(name):
    expected = EXPECTED[name]
    result = normalised(FORMATS / name, species=expected.species)
    assert result.counts["rows_in"] == expected.rows
    assert result.counts["rows_out"] == expected.kept
    assert result.counts["rows_rejected"] == expected.rejected
    assert result.counts["cells"] == expected.cells
    assert result.counts["receptors"] == expected.receptors
    assert result.counts["orf_chains"] == expected.frames
    assert result.counts["pairing"] == expected.pairing
    assert result.counts["reject_reasons"] == expected.reasons
    assert_conserved(result, expected.rows)

    plain = plain_count.count(FORMATS / name, expected.species)
    words = result.cells["chain_pairing"].to_pylist()
    cells = Counter((word, *chains) for word, chains in zip(words, chains_of(result), strict=True))
    assert cells == Counter(plain["all_cells"])
    rejects = zip(result.rejects["row"].to_pylist(), result.rejects["reason"].to_pylist(), strict=True)
    assert Counter(rejects) == Counter(plain["all_rejects"])


@needs_shared
@pytest.mark.parametrize("name", [name for name in EXPECTED if EXPECTED[name].error])
def test_where_nothing_is_kept_the_sentence_says_why(name):
    with pytest.raises(InputError) as caught:
        normalised(FORMATS / name, species=EXPECTED[name].species)
    assert str(caught.value) == EXPECTED[name].error
