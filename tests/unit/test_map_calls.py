"""The map's list of calls: receptors and their nearest references by name."""

from airrvec.core import schema
from airrvec.figures import map_page

import pandas as pd

RECEPTOR = ("TRAV27*01", "TRAJ42*01", "CAGAGSQGNLIF", "TRBV19*02", "TRBJ2-7*01", "CASSIRSAYEQYF")
NEAREST = "α not compared · TRBV19 CASSIRSSYEQYF TRBJ2-7"


def test_a_call_is_written_by_name_beside_its_reference_and_ids_come_last():
    fields = dict(zip(schema.RECEPTOR_FIELDS, RECEPTOR, strict=True))
    receptor = {
        "receptor_id": "r1",
        "clonotype_id": "c1",
        "chain_pairing": "single pair",
        "innate_like": None,
        **fields,
    }
    calls = pd.DataFrame({name: [None, None] for name in map_page.CALL_COLUMNS}).assign(
        **{name: value if name.startswith("trb") else None for name, value in fields.items()},
        receptor_id="r1",
        sample_id=["a", "b"],
        abundance=[2, 1005],
        count_unit="cells",
        epitope="PKYVKQNTLKLAT",
        antigen_gene="HA",
        antigen_species="Influenza A",
        mhc_a="HLA-DRA*01",
        mhc_b="HLA-DRB1*04:01",
        probability=0.91234,
        nearest_1_receptor=NEAREST,
        nearest_1_study="PMID:1",
        nearest_1_id="r2",
    )
    data = map_page.content(
        pd.DataFrame({"receptor_id": ["r1"], "map_1": [0.0], "map_2": [0.0]}),
        pd.DataFrame([{**receptor, "species": "homosapiens"}]),
        pd.DataFrame([{"sample_id": "a", "receptor_id": "r1", "clonotype_id": "c1", "epitope": None}]),
        pd.DataFrame({"n": [2], "unit": ["cells"]}, ["r1"]),
        calls=calls,
        n=1,
        method="pca",
        model="sceptr",
    )
    names, (row,) = data["calls"]["names"], data["calls"]["rows"]
    found = dict(zip(names, row, strict=True))
    assert (found["alpha_chain"], found["beta_chain"]) == (None, "TRBV19 CASSIRSAYEQYF TRBJ2-7")
    assert found["mhc"] == "HLA-DRA*01/HLA-DRB1*04:01"
    assert (found["antigen_gene"], found["antigen_species"]) == ("HA", "Influenza A")
    assert (found["sample_id"], found["n_cells"], found["probability"]) == ("b 1,005, a 2", 1007, 0.912)
    assert (found["nearest_1_receptor"], found["nearest_1_study"]) == (NEAREST, "PMID:1")
    assert names[-2:] == ["receptor_id", "nearest_1_id"]
    assert len(names) == len(data["calls"]["titles"])
