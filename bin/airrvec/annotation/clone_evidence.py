"""
Evidence for the epitope of a clone, in tiers; what speaks against it, and the next step.

The tiers, the strongest first: ``identical`` (both chains are those of a reference), ``called`` (a calibrated
call), ``cluster`` (references of one epitope lie in the clone's cluster), ``one chain`` (one chain is that of
a reference). Only ``called`` has an error rate. V gene without allele and CDR3 make a chain; two receptors
are identical if the J genes are too, as in ``exact_epitope``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import hla, innate, schema, tables
from airrvec.core.antigens import mhc_name, vdjdb_score
from airrvec.core.chains import GREEK

import duckdb
import pandas as pd
import pyarrow as pa

HUMAN = "homosapiens"
MIN_REFERENCES = 2  # of an epitope, for a cluster to be evidence
MIN_SHARE = 0.5  # of the references in a cluster: more than this have the epitope
N_NAMED = 3  # epitopes in a next step
LOWEST = 0  # confidence in VDJdb
_PLACES = (1, 2, 3)  # of the nearest references of a receptor
_TETRAMERS = {innate.MAIT: "MR1", innate.INKT: "CD1d"}


@dataclass(frozen=True)
class Sources:
    """
    What evidence is made of.

    Attributes
    ----------
    reference : Path
        `airrvec.core.schema.ANNOTATION_REFERENCE`.
    annotation : sequence of Path
        Calls of each annotated sample.
    clusters, members : Path, optional
        `airrvec.core.schema.CLUSTERS` and `CLUSTER_MEMBERS`.
    radius : mapping of (str, str) to float
        Species and class of chains → radius of the clusters; empty if vectors of another model made them.
    donors : mapping of str to dict
        Sample → alleles of its donor, of typed donors alone.
    """

    reference: Path
    annotation: Sequence[Path]
    clusters: Path | None
    members: Path | None
    radius: Mapping[tuple[str, str], float]
    donors: Mapping[str, hla.Alleles]


def cluster_references(connection: duckdb.DuckDBPyConnection, sources: Sources) -> pa.Table:
    """
    Return the references within the radius of a member of each cluster, of the three nearest of each member.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CLUSTER_REFERENCES`, by cluster, then nearness.
    """
    wanted = schema.CLUSTER_REFERENCES
    if sources.members is None or not sources.radius:
        return wanted.empty_table()
    radius = pd.DataFrame(
        [(*group, distance) for group, distance in sources.radius.items()],
        columns=["species", "chains", "radius"],
    )
    parts = ("id", "receptor", "epitope", "antigen_species", "mhc", "study", "distance")
    columns = {place: ", ".join(f"nearest_{place}_{part} AS {part}" for part in parts) for place in _PLACES}
    near = " UNION ALL ".join(
        f"SELECT receptor_id, species, chains, {names} FROM answer WHERE nearest_{place}_id IS NOT NULL"
        for place, names in columns.items()
    )
    connection.register("radius", radius)
    made = connection.sql(
        f"""
        WITH answer AS (SELECT * FROM read_parquet($annotation)),
        near AS ({near})
        SELECT members.cluster_id, near.receptor AS reference, any_value(epitope) AS epitope,
            any_value(antigen_species) AS antigen_species, any_value(mhc) AS mhc, any_value(study) AS study,
            min(distance)::FLOAT AS distance, count(DISTINCT near.receptor_id) AS n_members,
            near.id AS reference_receptor_id
        FROM near JOIN radius USING (species, chains)
        JOIN read_parquet($members) AS members ON members.receptor_id = near.receptor_id
        WHERE distance <= radius AND members.cluster_id IS NOT NULL
        GROUP BY members.cluster_id, near.id, near.receptor
        ORDER BY members.cluster_id, distance, near.id
        """,
        params={"annotation": _texts(sources.annotation), "members": str(sources.members)},
    ).to_arrow_table()
    connection.unregister("radius")
    return made.select(wanted.names).cast(wanted)


def evidence_of(
    connection: duckdb.DuckDBPyConnection, clones: pa.Table, sources: Sources, near: pa.Table
) -> pa.Table:
    """
    Return the evidence of each clone.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    clones : pyarrow.Table of n rows
        `airrvec.core.schema.CLONES` up to its call and cluster.
    sources : Sources
    near : pyarrow.Table
        From `cluster_references`.

    Returns
    -------
    pyarrow.Table of n rows
        Texts `airrvec.core.schema.EVIDENCE_OF_CLONE`; null where nothing is said.
    """
    supported = _supported(connection, clones, sources, near)
    about = clones.select(
        ["clone_id", "samples", "species", "chains", "innate_like", "call_epitope"]
    ).to_pandas()
    table = about.merge(supported, on="clone_id", how="left")
    known = table[table["tier"].notna() | table["innate_like"].notna()]
    rows = [_said(row, sources.donors) for row in tables.named_rows(known)]
    said = pd.DataFrame(rows, known.index, schema.EVIDENCE_OF_CLONE, object).reindex(table.index)
    texts = pa.schema([(name, pa.string()) for name in schema.EVIDENCE_OF_CLONE])
    return pa.Table.from_pandas(said, texts, preserve_index=False)


def _supported(connection, clones: pa.Table, sources: Sources, near: pa.Table) -> pd.DataFrame:
    """Return the strongest tier of each clone that has one, its epitopes, and what is known of them."""
    connection.register("label", _labels(sources.reference))
    chain = {
        locus: f"split_part({locus}_v_call, '*', 1) || ' ' || {locus}_junction_aa" for locus in ("tra", "trb")
    }
    keys = ", ".join(f"{text} AS {locus}" for locus, text in chain.items())
    connection.register("whole", clones)
    connection.register("enriched", _cluster_epitopes(sources.clusters, near))
    one_chain = " UNION ALL ".join(
        f"SELECT clone_id, label.* FROM clone JOIN label USING (species, {locus}) WHERE innate_like IS NULL"
        for locus in chain
    )
    common = "epitope, any_value(antigen_species) AS antigen_species, any_value(mhc) AS mhc,"
    common += " count(DISTINCT study) AS n_studies, max(confidence) AS confidence,"
    common += " CASE WHEN bool_and(suspect IS NOT NULL) THEN min(suspect) END AS suspect"
    made = connection.sql(
        f"""
        WITH clone AS (
            SELECT clone_id, species, chains, innate_like, clonotype_id, call_epitope, cluster_id, {keys}
            FROM whole
        ),
        about AS (SELECT species, {common} FROM label GROUP BY species, epitope),
        support AS (
            SELECT clone_id, 0 AS tier, {common} FROM clone JOIN label USING (species, clonotype_id)
            WHERE chains = 'paired' GROUP BY clone_id, epitope
            UNION ALL
            SELECT clone_id, 1, about.* EXCLUDE (species) FROM clone JOIN about
            ON about.species = clone.species AND about.epitope = clone.call_epitope
            UNION ALL
            SELECT clone_id, 2, about.* EXCLUDE (species) FROM clone JOIN enriched USING (cluster_id)
            JOIN about ON about.species = clone.species AND about.epitope = enriched.epitope
            WHERE innate_like IS NULL
            UNION ALL
            SELECT clone_id, 3, {common} FROM ({one_chain}) GROUP BY clone_id, epitope
        ),
        strongest AS (
            SELECT *, min(tier) OVER (PARTITION BY clone_id) AS best FROM support
        )
        SELECT clone_id, any_value(tier) AS tier, string_agg(epitope, ';' ORDER BY epitope) AS epitopes,
            string_agg(DISTINCT antigen_species, ';' ORDER BY antigen_species) AS antigen_species,
            string_agg(DISTINCT mhc, ';' ORDER BY mhc) AS mhc, count(*) AS n_epitopes,
            max(n_studies) AS n_studies, max(confidence) AS confidence,
            CASE WHEN bool_and(suspect IS NOT NULL) THEN min(suspect) END AS suspect
        FROM strongest WHERE tier = best GROUP BY clone_id
        """
    ).df()
    for name in ("label", "whole", "enriched"):
        connection.unregister(name)
    return made


def _labels(reference: Path) -> pd.DataFrame:
    """Return the labels of the reference, with one text for the MHC and one for each chain."""
    fields = ["v_call", "junction_aa"]
    columns = [f"{locus}_{name}" for locus in ("tra", "trb") for name in fields]
    kept = ["species", "clonotype_id", "epitope", "antigen_species", "mhc_a", "mhc_b", "reference_id"]
    labels = tables.read(reference, [*kept, "confidence", "suspect", *columns]).to_pandas()
    for locus in ("tra", "trb"):
        gene = labels[f"{locus}_v_call"].str.partition("*")[0]
        labels[locus] = gene + " " + labels[f"{locus}_junction_aa"]
    molecules = labels[["mhc_a", "mhc_b"]].drop_duplicates()
    molecules = molecules.astype(object).where(molecules.notna(), None)
    molecules["mhc"] = [mhc_name(*pair) for pair in zip(molecules["mhc_a"], molecules["mhc_b"], strict=True)]
    labels = labels.merge(molecules, on=["mhc_a", "mhc_b"], how="left")
    labels["confidence"] = vdjdb_score(labels["confidence"])
    labels = labels.rename(columns={"reference_id": "study"})
    names = ["species", "clonotype_id", "epitope", "antigen_species", "mhc", "study", "suspect", "tra", "trb"]
    return labels[["confidence", *names]].astype(dict.fromkeys(names, "string"))


def _cluster_epitopes(clusters: Path | None, near: pa.Table) -> pd.DataFrame:
    """
    Return the epitope that a cluster is evidence for: ``cluster_id``, ``epitope``.

    More than half of the references in the cluster have it, and at least `MIN_REFERENCES`; or it is enriched
    among the labelled members.
    """
    references = near.select(["cluster_id", "reference_receptor_id", "epitope"]).to_pandas().dropna()
    n_references = references.groupby("cluster_id")["reference_receptor_id"].nunique()
    each = references.assign(epitope=references["epitope"].str.split(";")).explode("epitope")
    counts = each.groupby(["cluster_id", "epitope"])["reference_receptor_id"].nunique().reset_index(name="n")
    share = counts["n"] / counts["cluster_id"].map(n_references)
    chosen = counts[(counts["n"] >= MIN_REFERENCES) & (share > MIN_SHARE)][["cluster_id", "epitope"]]
    if clusters is None:
        return chosen.astype("string")
    enriched = tables.read(clusters, ["cluster_id", "epitope", "epitope_fdr"]).to_pandas()
    enriched = enriched.loc[enriched["epitope_fdr"] <= schema.ENRICHED_FDR, ["cluster_id", "epitope"]]
    return pd.concat([chosen, enriched]).drop_duplicates().astype("string")


# --- What speaks against an epitope, and the next step


def _said(row, donors: Mapping[str, hla.Alleles]) -> tuple:
    """Return `airrvec.core.schema.EVIDENCE_OF_CLONE` of a clone."""
    kind = _text(row.innate_like)
    if pd.isna(row.tier):
        return None, None, None, None, None, _innate_step(kind) if kind else None
    tier, epitopes = schema.TIERS[int(row.tier)], row.epitopes.split(";")
    mhc = _text(row.mhc)
    donor = next((donors[name] for name in row.samples.split(";") if name in donors), None)
    verdict = hla.allows(donor, hla.parse_mhc(mhc)) if donor else hla.UNKNOWN
    against = []
    if kind:
        against.append(f"innate-like ({kind})")
    if verdict == hla.EXCLUDED:
        against.append(f"the donor lacks {mhc}")
    if len(epitopes) > 1:
        against.append(f"references of {len(epitopes):,} epitopes")
    if (call := _text(row.call_epitope)) and call not in epitopes:
        against.append(f"called for {call}")
    if row.n_studies == 1:
        against.append("one study")
    if row.confidence == LOWEST:
        against.append("lowest confidence in VDJdb")
    if suspect := _text(row.suspect):
        against.append(f"suspect label ({suspect.replace(';', ', ')})")
    step = _innate_step(kind) if kind else _next_step(row, tier, epitopes, mhc, verdict)
    return tier, row.epitopes, _text(row.antigen_species), mhc, "; ".join(against) or None, step


def _innate_step(kind: str) -> str:
    return f"{kind}: stain with the {_TETRAMERS[kind]} tetramer; do not order a peptide"


def _next_step(row, tier: str, epitopes: list[str], mhc: str | None, verdict: str) -> str:
    """
    Return what to do next, by these rules, the first that holds.

    The donor's HLA excludes the epitope; a chain is missing; several epitopes; MHC not known; the donor has
    the MHC; the donor is not typed.
    """
    if verdict == hla.EXCLUDED:
        return f"Check the donor's HLA: the epitope needs {mhc}"
    if row.chains in ("alpha", "beta"):
        missing = "TRB" if row.chains == "alpha" else "TRA"
        return f"Sequence the {GREEK[missing]} chain"
    if len(epitopes) > 1:
        more = f" and {len(epitopes) - N_NAMED:,} more" if len(epitopes) > N_NAMED else ""
        return f"Test the peptides {', '.join(epitopes[:N_NAMED])}{more}: the references do not agree"
    if mhc is None:
        return f"Confirm with the peptide {epitopes[0]}"
    verb = "Test" if tier == schema.ONE_CHAIN else "Confirm"
    multimer = f"{verb.lower()} with the {mhc}–{epitopes[0]} multimer"
    if verdict == hla.ALLOWED:
        return multimer[0].upper() + multimer[1:]
    if row.species != HUMAN:
        return f"{multimer[0].upper()}{multimer[1:]}, if the strain has this MHC"
    return f"Type the donor's HLA; then {multimer}"


def _text(value) -> str | None:
    return None if pd.isna(value) else str(value)


def _texts(paths: Sequence[Path]) -> list[str]:
    return [str(path) for path in paths]
