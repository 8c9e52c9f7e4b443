"""The column map of a table of an unknown layout: proposed, tried, or what the table lacks for one."""

import json
import re

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import normalise

import pytest
from format_tables import columns_of
from inputs import ALPHA, ALPHA_2, BETA, BETA_2, PAIR, chains_of, rejected, text

MOUSE = ("TRBV13-2*01", "TRBJ2-1*01", "CASGEQFF")


def told(path, header, rows, delimiter=",") -> str:
    path.write_text(text(header, rows, delimiter))
    with pytest.raises(InputError, match="match no known format") as error:
        reading.open_chains(path)
    return str(error.value)


def proposed(path, header, rows) -> dict:
    return json.loads(re.search(r"reads its first rows: (\{.*?\}); give", told(path, header, rows))[1])


def read(path, columns, **options):
    source = reading.open_chains(path, columns=columns)
    return normalise(source, sample_id="s", **{"species": "homosapiens", **options})


def test_one_chain_per_row(tmp_path):
    header = ("Barcode", "V segment", "J segment", "CDR3 amino acid", "CDR3 nucleotide", "UMIs", "Copies")
    rows = [("A", *ALPHA, "TGTGCC", 3, 30), ("A", *BETA, "TGTGCA", 5, 50)]
    columns = proposed(tmp_path / "x.csv", header, rows)
    result = read(tmp_path / "x.csv", columns)
    assert chains_of(result) == [PAIR]
    assert columns_of(result, "cell_id", "umi_count", "duplicate_count") == [("A", 8, 80)]


def test_both_chains_per_row(tmp_path):
    header = ("clone", "Beta V", "Beta CDR3", "Beta J", "Alpha V", "Alpha CDR3", "Alpha J", "Epitope")
    rows = [
        ("1", *BETA[::2], BETA[1], *ALPHA[::2], ALPHA[1], "GILGFVFTL"),
        ("2", *BETA_2[::2], BETA_2[1], *ALPHA_2[::2], ALPHA_2[1], "NLVPMVATV"),
    ]
    columns = proposed(tmp_path / "x.csv", header, rows)
    result = read(tmp_path / "x.csv", columns)
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2)]
    assert columns_of(result, "epitope") == [("GILGFVFTL",), ("NLVPMVATV",)]


def test_mouse(tmp_path):
    columns = proposed(tmp_path / "x.csv", ("a", "b", "c"), [MOUSE] * 2)
    assert columns == {"v_call": "a", "j_call": "b", "junction_aa": "c"}
    assert len(read(tmp_path / "x.csv", columns, species="musmusculus").cells) == 2


@pytest.mark.parametrize(
    ("header", "row", "reason"),
    [
        (
            ("gene", "n"),
            (BETA[0], 1),
            "'gene' holds V genes, but no column holds CDR3s that airrvec can read",
        ),
        (
            ("J", "aa"),
            BETA[1:],
            "'J' holds J genes, 'aa' holds CDR3s, but no column holds V genes that airrvec",
        ),
        (("a", "b"), (1, 2), "no column holds V genes or CDR3s that airrvec can read"),
    ],
)
def test_what_is_missing(header, row, reason, tmp_path):
    assert f"and no column map reads it: {reason}" in told(tmp_path / "x.csv", header, [row])


# Names of the columns of V, J and CDR3 of both chains, in an order in which distance misleads.
@pytest.mark.parametrize(
    "header",
    [
        "v_call_VDJ j_call_VDJ v_call_VJ j_call_VJ junction_aa_VDJ junction_aa_VJ",
        "TRB_v TRB_j TRA_v TRA_j TRB_cdr3 TRA_cdr3",
        "BV BJ AV AJ bcdr3 acdr3",
        "v_beta j_beta v_alpha j_alpha cdr3_beta cdr3_alpha",
        "BetaV BetaJ AlphaV AlphaJ BetaCDR3 AlphaCDR3",
        "V2 J2 V1 J1 CDR3_2 CDR3_1",
        "V.β J.β V.α J.α CDR3.β CDR3.α",
        # Names that say nothing: by the ends of J genes.
        "V J V_ J_ CDR3 CDR3_",
    ],
)
def test_a_cdr3_belongs_to_the_chain_of_its_name_or_j_gene(header, tmp_path):
    header = header.split()
    rows = [(*b[:2], *a[:2], b[2], a[2]) for a, b in ((ALPHA, BETA), (ALPHA_2, BETA_2))]
    columns = proposed(tmp_path / "x.csv", header, rows)
    assert (columns["trb_junction_aa"], columns["tra_junction_aa"]) == tuple(header[4:])
    assert chains_of(read(tmp_path / "x.csv", columns)) == [PAIR, (*ALPHA_2, *BETA_2)]


def test_two_equal_assignments_are_no_map(tmp_path):
    cdr3 = "CASSLGTDTQYF"
    nearer = proposed(tmp_path / "x.csv", ("V", "CDR3", "CDR3_", "V_"), [(ALPHA[0], cdr3, cdr3, BETA[0])])
    assert nearer["tra_junction_aa"] == "CDR3"
    sentence = told(tmp_path / "x.csv", ("V", "V_", "CDR3", "CDR3_"), [(ALPHA[0], BETA[0], cdr3, cdr3)])
    assert (
        "neither the names nor the values of 'CDR3' and 'CDR3_' tell which holds the CDR3s of α" in sentence
    )
    assert "call the columns cdr3_alpha and cdr3_beta" in sentence


def test_columns_of_other_fields(tmp_path):
    imgt = ("Sequence ID", "V-DOMAIN Functionality", "V-GENE and allele", "J-GENE and allele", "AA JUNCTION")
    rows = [("s1", "productive", *BETA), ("s2", "unproductive (see comment)", *BETA_2)]
    columns = proposed(tmp_path / "x.csv", imgt, rows)
    assert columns["productive"] == "V-DOMAIN Functionality"
    assert chains_of(read(tmp_path / "x.csv", columns)) == [(None, None, None, *BETA)]

    adaptive = ("aminoAcid", "copy", "VFamilyName", "VGeneName", "JGeneName", "sequenceStatus")
    rows = [(BETA[2], 120, "TCRBV19", "TCRBV19-01", BETA[1], "Productive")]
    rows += [(BETA_2[2], 30, "TCRBV07", BETA_2[0], BETA_2[1], "Out of Frame")]
    columns = proposed(tmp_path / "x.csv", adaptive, rows)
    assert columns == {
        **{"v_call": "VGeneName", "j_call": "JGeneName", "junction_aa": "aminoAcid"},
        **{"productive": "sequenceStatus", "duplicate_count": "copy"},
    }

    joined = ("Barcode", "Sample", "High confidence", "Vgene", "Jgene", "CDR3aa", "umis")
    rows = [("A", sample, 1, *chain, 5) for sample in ("s1", "s2") for chain in (ALPHA, BETA)]
    columns = proposed(tmp_path / "x.csv", joined, rows)
    assert (columns["repertoire_id"], columns["high_confidence"]) == ("Sample", "High confidence")
    assert chains_of(read(tmp_path / "x.csv", columns)) == [PAIR, PAIR]


def test_a_doublet_is_rejected_with_the_map_too(tmp_path):
    rows = [(cell, *chain, cell == "B") for cell in "AB" for chain in (ALPHA, BETA)]
    columns = proposed(tmp_path / "x.csv", ("Barcode", "Vgene", "Jgene", "CDR3aa", "is_doublet"), rows)
    result = read(tmp_path / "x.csv", columns)
    assert chains_of(result) == [PAIR]
    assert {reject[3] for reject in rejected(result)} == {"the cell is a doublet (is_doublet)"}


def test_genes_with_the_letter_of_a_species(tmp_path):
    row = (f"h{BETA[0]}", f"h{BETA[1]}", BETA[2][1:-1], 120)
    columns = proposed(tmp_path / "x.csv", ("V-gene", "J-gene", "CDR3(pep)", "copy"), [row])
    fields = ("v_call", "j_call", "junction_aa", "duplicate_count")
    assert columns == dict(zip(fields, ("V-gene", "J-gene", "CDR3(pep)", "copy"), strict=True))


def test_labels(tmp_path):
    row = (*BETA, "GILGFVFTL", "HLA-A*02:01")
    columns = proposed(tmp_path / "x.csv", ("V", "J", "CDR3", "peptide", "HLA"), [row])
    assert (columns["epitope"], columns["mhc_a"]) == ("peptide", "HLA")
    assert "mhc_a" not in proposed(tmp_path / "x.csv", ("V", "J", "CDR3", "HLA"), [(*BETA, "A*02:01")])
