"""
Clusters that donors with an HLA allele have more often than donors without it.

The unit is a donor, however many samples or clones of a cluster it has. The test is one-sided and exact,
within the values of a column such as a batch (`airrvec.stats.stratified_tables`): receptors that recognise a
peptide on an allele occur in donors who have it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airrvec.core import hla, schema, tables
from airrvec.core.progress import counter, step
from airrvec.stats.significance import discrete_fdr
from airrvec.stats.stratified_tables import Joint, joint

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

LEAST_DONORS = 3  # with the cluster, and with the allele
_COLUMNS = [
    *("cluster_id", "species", "chains", "allele"),
    *("n_carriers", "n_carriers_in_cluster", "n_noncarriers", "n_noncarriers_in_cluster"),
    *("reason", "law", "p", "least_p", "method"),
]


@dataclass(frozen=True)
class Donors:
    """
    Donors with a typing.

    Attributes
    ----------
    carried : DataFrame
        One row per donor, one column per allele: 1, 0, or NaN where the typing cannot tell.
    strata : Series
        Value of the column within which donors are compared; one value without such a column.
    left_out : dict of str
        Donors that are not compared, and why.
    """

    carried: pd.DataFrame
    strata: pd.Series
    left_out: dict[str, str] = field(default_factory=dict)


def typed_donors(
    samples: pd.DataFrame, typings: Mapping[str, str], n_fields: int = 2, within: str | None = None
) -> Donors:
    """
    Return the donors that can be compared, and their alleles.

    Parameters
    ----------
    samples : DataFrame
        Index ``sample_id``; ``donor``, and the metadata columns.
    typings : mapping of str
        HLA of samples, as `airrvec.core.hla.parse_typing` reads it; samples without one may be missing.
    n_fields : {2, 1}
        Fields of an allele at most.
    within : str, optional
        Metadata column whose values are strata.
    """
    alleles, strata, left_out = {}, {}, {}
    for donor, rows in samples.groupby("donor", sort=True):
        words = {typings.get(name, "") for name in rows.index} - {""}
        values = rows[within].dropna().unique() if within else [""]
        if not words:
            left_out[str(donor)] = "no HLA in the samplesheet"
        elif len(words) > 1:
            left_out[str(donor)] = "its samples have different HLA"
        elif len(values) != 1:
            left_out[str(donor)] = f"it has {'several' if len(values) else 'no'} {within}"
        else:
            alleles[str(donor)] = hla.parse_typing(words.pop())
            strata[str(donor)] = values[0]
    names = {name for own in alleles.values() for name in hla.allele_names(own, n_fields)}
    carried = {
        name: [hla.carries(own, hla.parse_typing(name)) for own in alleles.values()] for name in sorted(names)
    }
    frame = pd.DataFrame(carried, index=list(alleles), dtype=object).astype(float)
    return Donors(frame, pd.Series(strata, index=list(alleles), dtype=object), left_out)


def clusters_of_donors(clones: Path, members: Path) -> pd.DataFrame:
    """
    Return which donors have a receptor of a class of chains, and of a cluster: each once.

    Parameters
    ----------
    clones : Path
        ``clones.parquet`` of ``count_clones.py``.
    members : Path
        `airrvec.core.schema.CLUSTER_MEMBERS`.

    Returns
    -------
    DataFrame
        ``species``, ``chains``, ``donor``, ``cluster_id`` (None for receptors in no cluster).
    """
    named = ["species", "chains", "cluster_id"]
    receptors = tables.read(members, ["receptor_id", *named])
    carried = tables.read(clones, ["donor", "receptor_id"])
    rows = pc.index_in(carried["receptor_id"], receptors["receptor_id"].combine_chunks())
    table = receptors.select(named).take(rows).append_column("donor", carried["donor"])
    table = table.filter(pc.is_valid(table["chains"]))
    return table.group_by([*named, "donor"]).aggregate([]).to_pandas()


@dataclass(frozen=True)
class _Pairs:
    """Clusters of one class of chains beside one allele: donors of each cluster, and the law of each."""

    about: dict
    clusters: np.ndarray  # their ids
    numbers: dict[str, np.ndarray]  # columns of the table
    pattern: np.ndarray  # place of each cluster's law among the laws
    laws: list[Joint]
    reasons: list[str | None]  # why there is no test, of each law


@step("clusters beside HLA alleles")
def associations(carried: pd.DataFrame, donors: Donors, names: pa.Table) -> tuple[pa.Table, dict]:
    """
    Return `airrvec.core.schema.HLA_ASSOCIATIONS`, and counts for the report.

    Parameters
    ----------
    carried : DataFrame
        From `clusters_of_donors`.
    donors : Donors
    names : pyarrow.Table
        ``cluster_id`` and ``centre`` of the clusters.
    """
    table, counts = compared_pairs(carried, donors)
    table["centre"] = table["cluster_id"].map(names.to_pandas().set_index("cluster_id")["centre"])
    rows_of_law: dict[Joint, list[int]] = {}
    for row, law in enumerate(table["law"]):
        if isinstance(law, Joint):
            rows_of_law.setdefault(law, []).append(row)
    effects, both = np.full((len(table), 3), np.nan), table["n_carriers_in_cluster"].to_numpy()
    for law, rows in rows_of_law.items():
        numbers, place = np.unique(both[rows], return_inverse=True)
        effects[rows] = np.column_stack(law.odds_ratios(numbers))[place]
    table[["odds_ratio", "low", "high"]] = effects
    table = table.reindex(columns=schema.HLA_ASSOCIATIONS.names)
    return pa.Table.from_pandas(table, schema.HLA_ASSOCIATIONS, preserve_index=False), counts


def compared_pairs(carried: pd.DataFrame, donors: Donors) -> tuple[pd.DataFrame, dict]:
    """
    Return the pairs of a cluster and an allele that a donor has both, the lowest p first, and counts.

    All other pairs have a p of 1, and count in the false discovery rate.

    Parameters
    ----------
    carried : DataFrame
        From `clusters_of_donors`.
    donors : Donors

    Returns
    -------
    DataFrame
        Columns of `airrvec.core.schema.HLA_ASSOCIATIONS` without odds ratio and names; ``law``, the `Joint`
        of a tested pair.
    dict
        ``n_tested``; ``least_p``, the smallest p that any pair can have, None without a test.
    """
    parts, possible = [], []
    for pairs in _every(carried, donors):
        parts.append(_rows(pairs))
        numbers = np.bincount(pairs.pattern, minlength=len(pairs.laws)).tolist()
        tested = zip(pairs.laws, numbers, pairs.reasons, strict=True)
        possible += [(law.p_greater, n) for law, n, reason in tested if reason is None]
    columns = {name: np.concatenate([part[name] for part in parts]) if parts else [] for name in _COLUMNS}
    table = pd.DataFrame(columns).astype({"p": float, "least_p": float})
    known = table["p"].notna()
    table["fdr"] = np.nan
    table.loc[known, "fdr"] = discrete_fdr(table.loc[known, "p"].to_numpy(float), possible)
    table = table.sort_values(["p", "cluster_id", "allele"], kind="stable", ignore_index=True)
    least_p = min((p[-1] for p, _ in possible), default=None)
    return table, {"n_tested": sum(n for _, n in possible), "least_p": least_p}


def _every(carried: pd.DataFrame, donors: Donors) -> Iterator[_Pairs]:
    """Yield the pairs of each species, class of chains and allele."""
    groups = list(carried[carried["donor"].isin(donors.carried.index)].groupby(["species", "chains"]))
    compared = counter("alleles compared", len(groups) * donors.carried.shape[1])
    for (species, chains), rows in groups:
        there = donors.carried.index[donors.carried.index.isin(rows["donor"])]
        in_cluster = pd.crosstab(rows["cluster_id"], rows["donor"]).reindex(columns=there, fill_value=0)
        in_cluster = in_cluster[in_cluster.sum(axis=1) >= LEAST_DONORS]
        strata = pd.get_dummies(donors.strata[there]).to_numpy(np.int64)
        for allele in donors.carried.columns if len(in_cluster) else ():
            about = {"species": species, "chains": chains, "allele": allele}
            yield _pairs(about, in_cluster, donors.carried.loc[there, allele].to_numpy(float), strata)
            compared(1)


def _pairs(about: dict, in_cluster: pd.DataFrame, has: np.ndarray, strata: np.ndarray) -> _Pairs:
    """
    Return the pairs of all clusters with an allele.

    Parameters
    ----------
    about : dict
    in_cluster : DataFrame
        Clusters, shape (n_clusters, n_donors).
    has : ndarray of float, shape (n_donors,)
        Whether a donor has the allele; NaN if this is not known.
    strata : ndarray of int, shape (n_donors, n_strata)
    """
    n, n_carriers = (strata[mask].sum(axis=0) for mask in (~np.isnan(has), has == 1))
    members = in_cluster.to_numpy(np.int64)
    with_cluster, both = (members[:, mask] @ strata[mask] for mask in (~np.isnan(has), has == 1))
    patterns, pattern = np.unique(with_cluster, axis=0, return_inverse=True)
    laws = [joint(zip(n.tolist(), n_carriers.tolist(), row, strict=True)) for row in patterns.tolist()]
    reasons = [_reason(n, n_carriers, row, law) for row, law in zip(patterns, laws, strict=True)]
    numbers = {
        "n_carriers": np.full(len(members), n_carriers.sum()),
        "n_carriers_in_cluster": both.sum(axis=1),
        "n_noncarriers": np.full(len(members), (n - n_carriers).sum()),
        "n_noncarriers_in_cluster": (with_cluster - both).sum(axis=1),
    }
    return _Pairs(about, in_cluster.index.to_numpy(), numbers, pattern.ravel(), laws, reasons)


def _reason(n: np.ndarray, n_carriers: np.ndarray, with_cluster: np.ndarray, law: Joint) -> str | None:
    """Return why a pair is not tested; None if it is."""
    if n_carriers.sum() < LEAST_DONORS:
        return f"fewer than {LEAST_DONORS} donors have the allele"
    if with_cluster.sum() < LEAST_DONORS:
        return f"fewer than {LEAST_DONORS} donors typed at the locus have the cluster"
    if law.least_p < 1:
        return None
    if n_carriers.sum() == n.sum():
        return "all donors have the allele"
    if with_cluster.sum() == n.sum():
        return "all donors have the cluster"
    return "no stratum has donors with and without each of them"


def _rows(pairs: _Pairs) -> dict[str, np.ndarray]:
    """Return `_COLUMNS` of the pairs that a donor has, without the false discovery rate."""
    shown = np.flatnonzero(pairs.numbers["n_carriers_in_cluster"] > 0)
    place, both = pairs.pattern[shown], pairs.numbers["n_carriers_in_cluster"][shown]
    laws = [law if reason is None else None for law, reason in zip(pairs.laws, pairs.reasons, strict=True)]
    p = [
        law.p_greater[n - law.first] if (law := laws[one]) else np.nan
        for one, n in zip(place, both, strict=True)
    ]
    each = {
        "reason": pairs.reasons,
        "law": laws,
        "least_p": [law.least_p if law else np.nan for law in laws],
        "method": [("exact" if law.exact else "normal") if law else None for law in laws],
    }
    return {
        "cluster_id": pairs.clusters[shown],
        "p": np.array(p, float),
        **{name: np.full(len(shown), value, object) for name, value in pairs.about.items()},
        **{name: column[shown] for name, column in pairs.numbers.items()},
        **{name: pd.Series(values, dtype=object).to_numpy()[place] for name, values in each.items()},
    }
