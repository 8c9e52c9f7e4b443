"""Evidence for the epitopes of clones: tiers, what speaks against, next steps; references in clusters."""

from airrvec.annotation import clone_evidence
from airrvec.core import database, hla, schema, tables

import pyarrow as pa
import pytest

A = ("TRAV1", "CAVF")
B = ("TRBV1", "CASSF")
OTHER_A = ("TRAV2", "CAGF")
OTHER_B = ("TRBV2", "CATF")
A2, B7, MOUSE = "HLA-A*02:01", "HLA-B*07:02", "H-2Db"


def reference(
    alpha, beta, epitope: str, study: str | None, *, mhc=A2, identity="", confidence="1", suspect=None
) -> dict:
    return {
        **chains(alpha, beta),
        "species": "homosapiens",
        "epitope": epitope,
        "antigen_species": {"FLU": "Influenza"}.get(epitope),
        "mhc_a": mhc,
        "mhc_b": "B2M",
        "reference_id": study,
        "confidence": confidence,
        "suspect": suspect,
        "clonotype_id": identity or f"{alpha}{beta}",
    }


def chains(alpha, beta) -> dict:
    row = {}
    for locus, chain in (("tra", alpha), ("trb", beta)):
        if chain:
            row |= {f"{locus}_v_call": f"{chain[0]}*01", f"{locus}_junction_aa": chain[1]}
    return row


REFERENCES = [
    reference(A, B, "FLU", "one", identity="exact"),
    reference(A, B, "FLU", "two", identity="exact", suspect="contradicted"),  # not by all studies
    reference(OTHER_A, OTHER_B, "CMV", "one", mhc=B7, confidence="0", suspect="contradicted;sorted together"),
    reference(OTHER_A, OTHER_B, "CMV", "one", mhc=B7, confidence="by eye", suspect="contradicted"),
    *(reference(None, ("TRBV9", f"C{end}F"), "EBV", f"study {end}", identity=end) for end in "KRN"),
    reference(None, ("TRBV9", "CKF"), "HIV", "one", identity="K"),
]


def clone(name: str, alpha, beta, *, sample="typed", **more) -> dict:
    n_chains = sum(map(bool, (alpha, beta)))
    kind = "paired" if n_chains == 2 else "alpha" if alpha else "beta"
    fixed = {"clone_id": name, "receptor_id": name, "samples": sample, "species": "homosapiens"}
    return {**fixed, **chains(alpha, beta), "chains": kind, "clonotype_id": name, **more}


NEW_A, NEW_B = ("TRAV3", "CALF"), ("TRBV3", "CAEF")
CLONES = [
    clone("exact", A, B),
    clone("called", NEW_A, NEW_B, call_epitope="CMV", cluster_id="flu"),
    clone("clustered", NEW_A, NEW_B, cluster_id="flu"),
    clone("enriched", NEW_A, NEW_B, sample="untyped", cluster_id="labelled"),
    clone("beta of CMV", None, OTHER_B, sample="untyped"),
    clone("beta of two", NEW_A, ("TRBV9", "CKF")),
    clone("MAIT", A, NEW_B, innate_like="MAIT", cluster_id="flu"),
    clone("nothing", NEW_A, NEW_B, cluster_id="mixed"),
]


def answer(name: str, nearest: list[tuple]) -> dict:
    """Calls of a receptor, whose nearest references are (id, epitope, distance)."""
    row = {"receptor_id": name, "species": "homosapiens", "chains": "paired", "sample_id": "typed"}
    for place, (identity, epitope, distance) in enumerate(nearest, start=1):
        row |= {f"nearest_{place}_id": identity, f"nearest_{place}_epitope": epitope}
        row |= {f"nearest_{place}_distance": distance, f"nearest_{place}_receptor": f"R{identity}"}
    return row


ANSWERS = [
    answer("called", [("r1", "FLU", 0.1), ("r2", "FLU;EBV", 0.2), ("r3", "CMV", 0.31)]),
    answer("clustered", [("r1", "FLU", 0.05), ("r4", "HIV", 0.3)]),
    answer("MAIT", [("r9", "CMV", 0.9)]),
    answer("nothing", [("r1", "FLU", 0.1), ("r4", "HIV", 0.2)]),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Evidence of `CLONES` by name, and the references in their clusters."""
    folder = tmp_path_factory.mktemp("evidence")

    def write(name: str, rows: list[dict], table_schema: pa.Schema):
        tables.write(pa.Table.from_pylist(rows, table_schema), folder / f"{name}.parquet")
        return folder / f"{name}.parquet"

    known = [{"receptor_id": row["clone_id"], "cluster_id": row.get("cluster_id")} for row in CLONES]
    clusters = [
        {"cluster_id": "labelled", "epitope": "EBV", "epitope_fdr": 0.01},
        {"cluster_id": "mixed", "epitope": "EBV", "epitope_fdr": 0.2},
    ]
    sources = clone_evidence.Sources(
        reference=write("reference", REFERENCES, schema.ANNOTATION_REFERENCE),
        annotation=[write("typed", ANSWERS, schema.ANNOTATION)],
        clusters=write("clusters", clusters, schema.CLUSTERS),
        members=write("members", known, schema.CLUSTER_MEMBERS),
        radius={("homosapiens", "paired"): 0.305},
        donors={"typed": hla.parse_typing("A*02:01;B*08:01")},
    )
    clones = pa.Table.from_pylist(CLONES, schema.CLONES)
    with database.connect(folder / "work", memory="1GB", threads=1) as connection:
        near = clone_evidence.cluster_references(connection, sources)
        evidence = clone_evidence.evidence_of(connection, clones, sources, near)
    rows = [list(row.values()) for row in evidence.to_pylist()]
    return dict(zip((row["clone_id"] for row in CLONES), rows, strict=True)), near


def test_references_within_the_radius_of_a_member_lie_in_its_cluster(made):
    columns = ["cluster_id", "reference_receptor_id", "epitope", "distance", "n_members"]
    rows = [tuple(row[name] for name in columns) for row in made[1].to_pylist()]
    assert [(*row[:3], round(row[3], 4), row[4]) for row in rows] == [
        ("flu", "r1", "FLU", 0.05, 2),
        ("flu", "r2", "FLU;EBV", 0.2, 1),
        ("flu", "r4", "HIV", 0.3, 1),
        ("mixed", "r1", "FLU", 0.1, 1),
        ("mixed", "r4", "HIV", 0.2, 1),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "exact",  # also one chain of it; the strongest tier counts
            ["identical", "FLU", "Influenza", A2, None, f"Confirm with the {A2}–FLU multimer"],
        ),
        (
            "called",
            [
                *("called", "CMV", None, B7),
                f"the donor lacks {B7}; one study; lowest confidence in VDJdb; suspect label (contradicted)",
                f"Check the donor's HLA: the epitope needs {B7}",
            ],
        ),
        ("clustered", ["cluster", "FLU", "Influenza", A2, None, f"Confirm with the {A2}–FLU multimer"]),
        (
            "enriched",
            [
                "cluster",
                "EBV",
                None,
                A2,
                None,
                f"Type the donor's HLA; then confirm with the {A2}–EBV multimer",
            ],
        ),
        (
            "beta of CMV",
            [
                *(
                    "one chain",
                    "CMV",
                    None,
                    B7,
                    "one study; lowest confidence in VDJdb; suspect label (contradicted)",
                ),
                "Sequence the α chain",
            ],
        ),
        (
            "beta of two",
            [
                *("one chain", "EBV;HIV", None, A2, "references of 2 epitopes; one study"),
                "Test the peptides EBV, HIV: the references do not agree",
            ],
        ),
        ("MAIT", [*[None] * 5, "MAIT: stain with the MR1 tetramer; do not order a peptide"]),
        ("nothing", [None] * 6),
    ],
)
def test_each_clone_has_its_strongest_evidence_and_the_next_step(made, name, expected):
    assert made[0][name] == expected


def test_clones_without_any_evidence_have_texts_that_are_null(tmp_path):
    """Of a run whose reference is far from all of its clones."""
    tables.write(
        pa.Table.from_pylist(REFERENCES, schema.ANNOTATION_REFERENCE), tmp_path / "reference.parquet"
    )
    sources = clone_evidence.Sources(tmp_path / "reference.parquet", [], None, None, {}, {})
    clones = pa.Table.from_pylist([clone("far", NEW_A, NEW_B)], schema.CLONES)
    with database.connect(tmp_path, memory="1GB", threads=1) as connection:
        near = clone_evidence.cluster_references(connection, sources)
        evidence = clone_evidence.evidence_of(connection, clones, sources, near)
    assert evidence.to_pylist() == [dict.fromkeys(schema.EVIDENCE_OF_CLONE)]
    assert set(evidence.schema.types) == {pa.string()}


def test_without_clusters_of_the_same_vectors_no_reference_lies_in_one(tmp_path):
    sources = clone_evidence.Sources(tmp_path, [], None, None, {}, {})
    with database.connect(tmp_path, memory="1GB", threads=1) as connection:
        near = clone_evidence.cluster_references(connection, sources)
    assert near.schema == schema.CLUSTER_REFERENCES
    assert not len(near)
