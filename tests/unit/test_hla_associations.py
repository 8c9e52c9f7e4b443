"""Clusters beside the donors' HLA: donors and alleles, tests, false associations, the script, the report."""

import json

from airrvec.core import hla, schema, tables
from airrvec.repertoire.hla_associations import LEAST_DONORS as LEAST
from airrvec.repertoire.hla_associations import Donors, associations, compared_pairs, typed_donors
from airrvec.report.sections import hla as hla_report
from airrvec.stats.significance import discrete_fdr

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import associate_hla

SAMPLES = pd.DataFrame(
    [("a", "A", "1"), ("a2", "A", "1"), ("b", "B", "2"), ("c", "C", "1"), ("d", "D", None), ("e", "E", "1")],
    columns=["sample_id", "donor", "batch"],
).set_index("sample_id")
TYPINGS = {"a": "A*02:01;B*07:02", "b": "A*02;A*24:02", "c": "A*01:01;A*02:06", "e": "B*15:01/15:02/15:03"}


@pytest.mark.parametrize(
    ("typing", "allele", "has"),
    [
        ("A*02:01;A*24:02", "A*02:01", True),
        ("A*02:01;A*24:02", "A*02", True),
        ("A*02:01;A*24:02", "A*02:06", False),
        ("A*02:01;A*24:02", "B*07", None),  # not typed
        ("A*02;A*24:02", "A*02:01", None),  # typed at one field
        ("A*02:01P", "A*02:01", None),
        ("A*02:01", "A*02:01P", True),
        ("A*02:01/02:06/02:07;A*24:02", "A*02:06", None),
        ("A*02:01/02:06/02:07", "A*02", True),
        ("A*24:02N", "A*24:02", False),
        ("DRB4*01:01", "DRB4", True),
    ],
)
def test_a_donor_has_an_allele_where_the_typing_says_so(typing, allele, has):
    read = hla.parse_typing(allele) if allele != "DRB4" else hla.parse_typing("DR53")
    assert hla.carries(hla.parse_typing(typing), read) is has


def test_donors_are_typed_once_or_left_out_with_a_reason():
    donors = typed_donors(SAMPLES, TYPINGS)
    assert donors.left_out == {"D": "no HLA in the samplesheet"}
    carried = donors.carried
    assert list(carried.index) == ["A", "B", "C", "E"]
    assert carried["A*02:01"].tolist()[:3] == [1, pytest.approx(np.nan, nan_ok=True), 0]
    assert carried["A*02"].tolist()[:3] == [1, 1, 1]
    assert np.isnan(carried.loc["E", ["A*02", "B*15:01"]]).all()  # not typed, one of three
    assert carried.loc["A", "B*15:01"] == 0
    assert "A*24" in typed_donors(SAMPLES, TYPINGS, n_fields=1).carried
    different = typed_donors(SAMPLES, TYPINGS | {"a2": "A*03:01"}, within="batch")
    assert different.left_out == {"A": "its samples have different HLA", "D": "no HLA in the samplesheet"}
    assert different.strata.to_dict() == {"B": "2", "C": "1", "E": "1"}
    typed = TYPINGS | {"d": "A*01:01"}
    assert typed_donors(SAMPLES, typed, within="batch").left_out == {"D": "it has no batch"}
    several = SAMPLES.assign(batch=["1", "2", "2", "1", "1", "1"])
    assert typed_donors(several, typed, within="batch").left_out == {"A": "it has several batch"}


def cohort(n_donors: int, n_clusters: int, rng) -> tuple[pd.DataFrame, Donors]:
    """Return random clusters of donors with random alleles, each donor of one of two batches."""
    names = [f"d{number}" for number in range(n_donors)]
    frequencies = rng.beta(1, 4, n_clusters)
    rows = [
        ("homosapiens", "beta", donor, cluster)
        for place, frequency in enumerate(frequencies)
        for donor, has in zip(names, rng.random(n_donors) < frequency, strict=True)
        for cluster in ((f"c{place}",) if has else ())
    ]
    rows += [("homosapiens", "beta", donor, None) for donor in names]
    alleles = (rng.random((n_donors, 12)) < rng.beta(1, 3, 12)).astype(float)
    alleles[rng.random(alleles.shape) < 0.02] = np.nan
    carried = pd.DataFrame(alleles, names, [f"A*{number:02d}" for number in range(12)])
    strata = pd.Series(np.where(rng.random(n_donors) < 0.5, "1", "2"), names, dtype=object)
    return pd.DataFrame(rows, columns=["species", "chains", "donor", "cluster_id"]), Donors(carried, strata)


def names_of(carried: pd.DataFrame) -> pa.Table:
    ids = sorted({*carried["cluster_id"].dropna()})
    return pa.table({"cluster_id": ids, "centre": [f"TRBV1 CASS{name}F" for name in ids]})


def test_pairs_are_tested_as_scipy_does():
    carried, donors = cohort(40, 25, np.random.default_rng(3))
    donors = Donors(
        donors.carried.assign(**{"A*20": 1.0, "A*21": [1.0, 1.0, *[0.0] * 38]}), donors.strata * 0
    )
    table, counts = associations(carried, donors, names_of(carried))
    assert table.schema == schema.HLA_ASSOCIATIONS
    rows, possible, n_tested = {}, [], 0
    for cluster, members in carried.dropna().groupby("cluster_id"):
        for allele in donors.carried:
            has = donors.carried[allele].dropna()
            inside = has.index.isin(members["donor"])
            square = [
                [int((inside & (has == one)).sum()), int((~inside & (has == one)).sum())] for one in (1, 0)
            ]
            tested = has.sum() >= LEAST and inside.sum() >= LEAST and 0 < has.sum() < len(has)
            if tested:
                n_tested += 1
                law = stats.hypergeom(len(has), int(has.sum()), int(inside.sum()))
                least, most = law.support()
                possible.append((law.sf(np.arange(least, most + 1) - 1), 1))
            if square[0][0] and members["donor"].nunique() >= LEAST:
                rows[cluster, allele] = (square, tested)
    assert counts["n_tested"] == n_tested
    assert counts["least_p"] == pytest.approx(min(p.min() for p, _ in possible))
    made = {(row["cluster_id"], row["allele"]): row for row in table.to_pylist()}
    assert made.keys() == rows.keys()
    p = {
        pair: stats.fisher_exact(square, "greater").pvalue
        for pair, (square, is_tested) in rows.items()
        if is_tested
    }
    assert {pair for pair, row in made.items() if row["reason"] is None} == p.keys()
    for pair, (square, _) in rows.items():
        row = made[pair]
        numbers = ("n_carriers_in_cluster", "n_carriers", "n_noncarriers_in_cluster", "n_noncarriers")
        assert [row[name] for name in numbers] == [square[0][0], sum(square[0]), square[1][0], sum(square[1])]
        assert row["centre"] == f"TRBV1 CASS{pair[0]}F"
        assert (row["p"] is None) == (pair not in p)
    pairs = list(p)
    assert np.allclose([made[pair]["p"] for pair in pairs], list(p.values()))
    assert np.allclose(
        [made[pair]["fdr"] for pair in pairs], discrete_fdr(np.array(list(p.values())), possible)
    )
    for pair in pairs[:20]:
        expected = stats.contingency.odds_ratio(np.array(rows[pair][0]))
        assert made[pair]["odds_ratio"] == pytest.approx(expected.statistic, rel=1e-5)
        ends = expected.confidence_interval(0.95)
        assert (made[pair]["low"], made[pair]["high"]) == pytest.approx((ends.low, ends.high), rel=1e-5)
    reasons = {pair[1]: row["reason"] for pair, row in made.items() if row["reason"]}
    assert reasons["A*20"] == "all donors have the allele"
    assert reasons["A*21"] == "fewer than 3 donors have the allele"
    ordered = [row["p"] for row in table.to_pylist() if row["p"] is not None]
    assert ordered == sorted(ordered)


def test_donors_without_receptors_of_the_class_are_no_donors():
    carried, donors = cohort(20, 8, np.random.default_rng(5))
    fewer = carried[carried["donor"] != "d0"]
    table, _ = compared_pairs(fewer, donors)
    without, _ = compared_pairs(
        fewer, Donors(donors.carried.drop(index="d0"), donors.strata.drop(index="d0"))
    )
    assert (table["n_carriers"] == without["n_carriers"]).all()
    assert np.allclose(table["p"], without["p"], equal_nan=True)


DRAWS = 200


def test_shuffled_hla_gives_at_most_the_nominal_rate_of_false_associations():
    rng = np.random.default_rng(11)
    any_false, p = 0, []
    carried, donors = cohort(60, 15, rng)
    for _ in range(DRAWS):
        shuffled = donors.carried.copy()
        for stratum in ("1", "2"):  # within batches
            rows = np.flatnonzero(donors.strata == stratum)
            shuffled.iloc[rows] = shuffled.iloc[rng.permutation(rows)].to_numpy()
        table, _ = compared_pairs(carried, Donors(shuffled, donors.strata))
        any_false += bool((table["fdr"] <= 0.05).any())
        p.append((table["p"] <= 0.05).sum() / max(1, table["p"].notna().sum()))
    assert any_false / DRAWS <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / DRAWS)
    assert np.mean(p) <= 0.05 + 3 * np.std(p) / np.sqrt(DRAWS)


def test_a_batch_is_no_association():
    """Cluster and allele are frequent in one batch, and independent within each."""
    rng = np.random.default_rng(2)
    donors = [f"d{number}" for number in range(200)]
    strata = pd.Series(np.repeat(["1", "2"], 100), donors, dtype=object)
    share = np.where(strata == "1", 0.7, 0.1)
    has, inside = rng.random(200) < share, rng.random(200) < share
    rows = [
        ("homosapiens", "beta", donor, "c" if one else None)
        for donor, one in zip(donors, inside, strict=True)
    ]
    carried = pd.DataFrame(rows, columns=["species", "chains", "donor", "cluster_id"])
    alleles = pd.DataFrame({"A*02": has.astype(float)}, donors)
    confounded, _ = compared_pairs(carried, Donors(alleles, strata * 0))
    stratified, _ = compared_pairs(carried, Donors(alleles, strata))
    assert confounded["p"][0] < 1e-6
    assert stratified["p"][0] > 0.05
    constant, counts = compared_pairs(carried, Donors(alleles, pd.Series(donors, donors)))
    assert constant["reason"][0] == "no stratum has donors with and without each of them"
    assert counts == {"n_tested": 0, "least_p": None}


def test_a_planted_association_is_detected():
    rng = np.random.default_rng(7)
    detected = 0
    for _ in range(20):
        carried, donors = cohort(60, 15, rng)
        alleles = donors.carried.assign(**{"A*99": (np.arange(60) < 20).astype(float)})
        carriers = alleles.index[alleles["A*99"] == 1]
        planted = pd.DataFrame({"species": "homosapiens", "chains": "beta", "donor": carriers[:12]})
        table, _ = compared_pairs(
            pd.concat([carried, planted.assign(cluster_id="new")]), Donors(alleles, donors.strata)
        )
        pair = table[(table["cluster_id"] == "new") & (table["allele"] == "A*99")]
        detected += bool((pair["fdr"] <= 0.05).all())
    assert detected == 20


@pytest.fixture
def run(tmp_path):
    """Write clones, members and clusters of twelve donors, and a samplesheet with their HLA."""
    donors = [f"D{number:02d}" for number in range(12)]
    clones = [{"donor": donor, "receptor_id": f"own {donor}"} for donor in donors]
    clones += [{"donor": donor, "receptor_id": f"r{place % 2}"} for place, donor in enumerate(donors[:5])]
    folder = tmp_path / "clones"
    tables.write(pa.Table.from_pylist(clones), folder / "clones.parquet")
    samples = [{"sample_id": donor.lower(), "donor": donor, "batch": "x"} for donor in donors]
    samples.append({"sample_id": "d00_again", "donor": "D00", "batch": "x"})
    tables.write(pa.Table.from_pylist(samples), folder / "samples.parquet")
    ids = sorted({row["receptor_id"] for row in clones})
    common = {"species": "homosapiens", "chains": "beta"}
    members = [common | {"receptor_id": id, "cluster_id": None if "own" in id else "c"} for id in ids]
    for rows, columns, name in (
        (members, schema.CLUSTER_MEMBERS, "members"),
        (
            [common | {"cluster_id": "c", "centre": "TRBV9 CASSF", "n_receptors": 2}],
            schema.CLUSTERS,
            "clusters",
        ),
    ):
        frame = pd.DataFrame(rows).reindex(columns=columns.names)
        path = tmp_path / f"clusters/{name}.parquet"
        tables.write(pa.Table.from_pandas(frame, columns, preserve_index=False), path)
    typings = {donor: "A*02:01;A*24:02" if place < 6 else "A*01:01" for place, donor in enumerate(donors)}
    lines = [f"{row['sample_id']},x.csv,{row['donor']},x,{typings[row['donor']]}" for row in samples]
    lines[11] = "d11,x.csv,D11,x,"
    (tmp_path / "sheet.csv").write_text("sample,path,donor,batch,hla\n" + "\n".join(lines) + "\n")
    return tmp_path


def associate(run, *options) -> tuple[pd.DataFrame, dict]:
    associate_hla.main(
        [
            *("--clones", str(run / "clones"), "--clusters", str(run / "clusters")),
            *("--samplesheet", str(run / "sheet.csv"), "--outdir", str(run / "clusters"), *options),
        ]
    )
    table = tables.read(run / "clusters/hla.parquet").to_pandas()
    return table, json.loads((run / "clusters/hla.qc.json").read_text())


def test_the_script_compares_donors_of_a_samplesheet(run):
    table, qc = associate(run, "--compare-within", "batch")
    assert qc["left_out"] == {"D11": "no HLA in the samplesheet"}
    assert (qc["donors"], qc["alleles"], qc["n_tested"], qc["within"]) == (11, 3, 3, "batch")
    assert sorted(table["allele"]) == ["A*02:01", "A*24:02"]  # the third has no carrier in the cluster
    first = table.iloc[0]
    numbers = ("n_carriers_in_cluster", "n_carriers", "n_noncarriers_in_cluster", "n_noncarriers")
    assert [first[name] for name in numbers] == [5, 6, 0, 5]
    assert first["p"] == pytest.approx(stats.fisher_exact([[5, 1], [0, 5]], "greater").pvalue)
    assert first["odds_ratio"] == np.inf
    groups, _ = associate(run, "--hla-fields", "1")
    assert sorted(groups["allele"]) == ["A*02", "A*24"]


def test_the_report_says_first_that_nothing_can_be_significant(run):
    associate(run)
    (section,) = hla_report.association_sections(hla_report.read_associations(run / "clusters"))
    assert section["description"].startswith("2 of 3 pairs of a cluster and an allele are significant")
    assert "Donors left out: D11 (no HLA in the samplesheet)." in section["description"]
    cells = section["data"]["01"]
    assert (cells["allele"], cells["carriers"], cells["noncarriers"]) == ("A*02:01", "5 of 6", "0 of 5")
    assert "∞ (" in cells["odds_ratio"]
    json.dumps(section)
    sheet = (run / "sheet.csv").read_text().splitlines()
    (run / "sheet.csv").write_text(
        "\n".join(sheet[:6] + [line[: line.rindex(",") + 1] for line in sheet[6:]])
    )
    associate(run)
    results = hla_report.read_associations(run / "clusters")
    (section,) = hla_report.association_sections(results)
    assert section["description"].startswith(
        "No cluster could be compared with an allele: this needs 3 donors"
    )
    assert hla_report.association_lines(results)[0].startswith("HLA: No cluster could be compared")
    few = hla_report.Associations(
        results.counts | {"least_p": 0.1, "n_tested": 2}, results.table, results.clusters
    )
    assert hla_report.association_sections(few)[0]["description"].startswith(
        "Nothing can be significant: the smallest p that 5 donors with HLA can give is 0.1."
    )
