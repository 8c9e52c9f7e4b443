"""Calls of genes in many spellings: the gene, functional or an open reading frame, or why there is none."""

from airrvec.input.calls import Call, read_call

import pytest
import tidytcells

HUMAN = "homosapiens"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("TRBV19*02", Call("TRBV19*02", "F")),
        ("TRBV12-3,TRBV12-4", Call("TRBV12-3", "F", certain=False)),
        ("TRBV12-2+TRBV13-2", Call("TRBV12-2", "F", certain=False)),
        ("TRBV6-2 TRBV6-3", Call("TRBV6-2", "F", certain=False)),
        ("TRBV6-2/6-3", Call("TRBV6-2", "F", certain=False)),
        ("TCRBV12-03/12-04*01", Call("TRBV12-3*01", "F", certain=False)),
        ("TRBV12-3*00(850),TRBV12-4*00(850)", Call("TRBV12-3", "F", certain=False)),
        ("TRBV19*01,TRBV19*02", Call("TRBV19*01", "F", certain=False)),
        ("TRBV19,TRBV19*00(12.5)", Call("TRBV19", "F")),
        # The first is a pseudogene.
        ("TRBV21-1;TRBV19", Call("TRBV19", "F", certain=False)),
        # A family of nine functional genes, of one, and one whose first gene is no functional one.
        ("TCRBV06", Call("TRBV6-1", "F", certain=False)),
        ("TRBV20", Call("TRBV20-1", "F")),
        ("TRBV7", Call("TRBV7-2", "F", certain=False)),
        ("TRBV19*99", Call("TRBV19", "F", certain=False)),
        ("TRBV20-1:02", Call("TRBV20-1*02", "F")),
        ("Homsap TRBV19*01 F", Call("TRBV19*01", "F")),
        ("TRAV38-2", Call("TRAV38-2/DV8", "F")),
        ("TRAV38-2/DV8*01", Call("TRAV38-2/DV8*01", "F")),
        # A guess of the family beside one of its genes: the one that MAIT cells have.
        ("TRAV1*01,TRAV1-2*01", Call("TRAV1-2*01", "F", certain=False)),
        *(
            (f"TRBV6-2{between}TRBV6-3", Call("TRBV6-2", "F", certain=False))
            for between in (
                *"_&:~^|\\=#@·!或，；、.\u00a0",
                *("==", "--", "->", "<br>", "or"),
                *(f" {word} " for word in ("or", "and", "vs", "o", "oder", "/", "-")),
                ", or ",
            )
        ),
        *(
            (f"{before}TRBV6-2{between}TRBV6-3{after}", Call("TRBV6-2", "F", certain=False))
            for before, between, after in (
                *(("['", "', '", "']"), ("(", ",", ")"), ("{", ",", "}"), ("[", " ", "]"), ("", " (", ")")),
                *(("", ":0.9,", ":0.1"), ("", "=0.9;", "=0.1"), ("", " 98%, ", " 2%")),
            )
        ),
        *((call, Call("TRBV6-2", "F", certain=False)) for call in ("TRBV6-2/3", "TRBV6-2,3", "TRBV6-(2,3)")),
        ("TRBV6-2*01_or_TRBV6-3*01", Call("TRBV6-2*01", "F", certain=False)),
        ("TRBV19*01/*02", Call("TRBV19*01", "F", certain=False)),
        # A family and a number: a gene with another separator, or two families.
        ("TRBV7/9", Call("TRBV7-9", "F", certain=False)),
        *((f"TRBV7{dash}9", Call("TRBV7-9", "F")) for dash in "‐‑‒–—―−－"),
        ("TRAV38–2/DV8", Call("TRAV38-2/DV8", "F")),
        *((name, Call("TRAV29/DV5", "F")) for name in ("TRAV29|DV5", "TRAV29 DV5", "TRAV29_DV5")),
        # Words around a name.
        *(
            (name, Call("TRBV19*01", "F"))
            for name in (
                *("TRBV19*01|F", "M11951|TRBV19*01|Homo sapiens|F|V-REGION", "TRBV19*01 (98.6%)"),
                *("'TRBV19*01'", '"TRBV19*01"', "TRBV19*01 functional", "huTRBV19*01", "TRBV19*01(1234.5)"),
            )
        ),
        ("TRBV19*ap01", Call("TRBV19", "F", certain=False)),  # of which tidytcells reads TRBV19
        ("12-3,TRBV19", Call("TRBV19", "F", certain=False)),
        *((f"TRBV6-2{between}6-3", Call("TRBV6-2", "F", certain=False)) for between in ("or", "_", ":", ";")),
        *((name, Call("TRBV6-2", "F")) for name in ("TRBV6_2", "hTRBV6-2", "TRBV-6-2", "TRBV6-2_F")),
        *((name, Call("TRAV14/DV4", "F")) for name in ("TRAV14_DV4", "TRAV14DV4", "TRAV14-DV4")),
        ("TRBV19*01(F)", Call("TRBV19*01", "F")),
        ("TRBV20OR9-2", Call("TRBV20/OR9-2", "ORF")),
        *(
            (date, Call(None, problem="v_call is a date, which a spreadsheet made of a gene's number"))
            for date in (
                *(
                    "19-Jan",
                    "Jun-05",
                    "6-May",
                    "6. Mai",
                    "05.06.2024",
                    "5-juin",
                    "Juin-05",
                    "Dez 05",
                    "45448",
                ),
                *("6/5/2024", "2024-06-05 00:00:00", "12-Mar-24", "45448.0", "1-févr."),
            )
        ),
        ("6-5", Call(None, problem="v_call is not a V gene listed by IMGT")),
        ("TRBV21-1", Call(None, problem="v_call is a pseudogene according to IMGT")),
        ("TRBV11-2*04", Call(None, problem="v_call is a pseudogene according to IMGT")),
        ("TRBJ2-7", Call(None, problem="v_call is not a V gene")),
        ("IGHV1-2", Call(None, problem="v_call is not a V gene listed by IMGT")),
        (" , ", Call(None, problem="v_call is not a V gene listed by IMGT")),
    ],
)
def test_a_call_is_read_as_its_first_functional_gene(call, expected):
    assert read_call(call, "V", HUMAN) == expected


def test_an_orphon_and_a_gene_of_mouse_keep_their_marks():
    assert read_call("TRBV20_OR9-2*01", "V", HUMAN) == Call("TRBV20/OR9-2*01", "ORF")
    assert read_call("TRAV10D:03", "V", "musmusculus") == Call("TRAV10D*03", "F")


@pytest.mark.parametrize("species", ["homosapiens", "musmusculus"])
@pytest.mark.parametrize("precision", ["gene", "allele"])
def test_names_of_imgt_stay_as_they_are(species, precision):
    names = tidytcells.tr.query(species=species, precision=precision, functionality="F")
    names = [name for name in names if name[3] in "VJ"]
    assert len(names) > 100
    assert [read_call(name, name[3], species) for name in names] == [Call(name, "F") for name in names]
