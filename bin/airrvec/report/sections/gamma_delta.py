"""γδ T cells in the MultiQC report: their samples, largest clones, genes and clusters."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.schema.gamma_delta import FOLDER, NOT_LEARNT
from airrvec.core.terminal import counted
from airrvec.report.page import COUNT, NUMBER, SHARE, escaped, meaning, nothing, section, units_sentence
from airrvec.report.receptor_cells import chain_cells, chain_headers, text_cell, text_header
from airrvec.report.sections import sample_genes
from airrvec.report.sections.conditions import tests_section

import pandas as pd

N_TOP = 50  # rows in the tables of clones and clusters
SUBSETS = ("TRDV1", "TRDV2", "TRDV3")  # of human cells


@dataclass(frozen=True)
class GammaDelta:
    """Results of ``describe_gamma_delta.py``: counts, and tables as data frames, by name."""

    counts: dict
    tables: dict[str, pd.DataFrame]


def read_gamma_delta(folder: Path | None, comparison: Path | None) -> GammaDelta | None:
    """Return the results, with the tests of ``compare_conditions.py``; None if the folder has none."""
    if folder is None or not (folder / "gamma_delta.qc.json").exists():
        return None
    counts = json.loads((folder / "gamma_delta.qc.json").read_text())
    names = ["clones", "counts", "gene_usage", "diversity"]
    names += ["clusters"] if counts["clusters"] is not None else []
    paths = {name: folder / f"{name}.parquet" for name in names}
    if comparison and (comparison / "gamma_delta_tests.parquet").exists():
        paths["tests"] = comparison / "gamma_delta_tests.parquet"
    return GammaDelta(counts, {name: tables.read(path).to_pandas() for name, path in paths.items()})


def gamma_delta_sections(results: GammaDelta) -> list[dict]:
    """Return the sections of the report."""
    sections = [_samples(results), _clones(results)]
    sections += sample_genes.gene_sections(results.tables["gene_usage"], FOLDER, FOLDER)
    if "clusters" in results.tables:
        sections.append(_clusters(results.tables["clusters"]))
    if len(results.tables.get("tests", ())):
        sections.append(_tests(results))
    return sections


def gamma_delta_lines(results: GammaDelta) -> list[str]:
    """Return a line for the terminal."""
    n_samples = counted(len(results.counts["units"]), "sample")
    words = f"γδ T cells: {counted(results.counts['clones'], 'clone')} in {n_samples}, without vectors"
    n_clusters = results.counts["clusters"]
    return [words if n_clusters is None else f"{words}; {counted(n_clusters, 'cluster')} by TCRdist"]


def _tests(results: GammaDelta) -> dict:
    centres = {}
    if "clusters" in results.tables:
        clusters = results.tables["clusters"]
        centres = dict(zip(clusters["cluster_id"], clusters["centre"], strict=True))
    tests = results.tables["tests"]
    title = f"γδ T cells by {escaped(tests['condition'].iloc[0])}"
    return tests_section(tests, centres, "airrvec_gamma_delta_tests", title, f"{FOLDER}/tests.tsv")


def _samples(results: GammaDelta) -> dict:
    usage, diversity = results.tables["gene_usage"], results.tables["diversity"]
    genes = usage[(usage["locus"] == "TRD") & (usage["segment"] == "V")]
    shares = genes.pivot_table(index="sample_id", columns="gene", values="cell_share", aggfunc="sum")
    subsets = [gene for gene in SUBSETS if gene in shares]
    paired = diversity[diversity["chains"] == "paired"].drop_duplicates("sample_id").set_index("sample_id")
    cells = diversity.groupby("sample_id")["n_cells"].sum()
    clones = results.tables["counts"].groupby("sample_id")["clone_id"].nunique()
    data = {}
    for sample, unit in results.counts["units"].items():
        line = {"counted": int(cells.get(sample, 0)), "unit": unit, "clones": int(clones.get(sample, 0))}
        if sample in paired.index:
            line["paired"] = 100 * paired["n_cells"][sample] / line["counted"]
            line["diversity"] = paired["hill_1_at_coverage"][sample]
        line |= {gene: 100 * shares[gene].get(sample, 0) for gene in subsets if sample in shares.index}
        data[escaped(sample)] = {name: value for name, value in line.items() if not pd.isna(value)}
    headers = {
        "counted": {"title": "Counted", **COUNT, "description": "γδ cells, or what the unit names"},
        "unit": {"title": "Unit", **meaning("gamma_delta_cells", "count_unit")},
        "clones": {"title": "Clones", **COUNT, "description": "Clones, by the rule of αβ cells"},
        "paired": {"title": "Paired", **SHARE, "description": "Share with a γ and a δ chain"},
        "diversity": {
            "title": "Diversity",
            **NUMBER,
            **meaning("gamma_delta_diversity", "hill_1_at_coverage"),
        },
        **{
            gene: {"title": gene, **SHARE, "description": f"Of the cells with a δ V gene, those with {gene}"}
            for gene in subsets
        },
    }
    return section(
        "airrvec_gamma_delta_samples",
        "γδ T cells",
        f"γδ T cells are in tables of their own, <code>{FOLDER}/</code>, and in no other chapter. They have"
        f" no vector: {NOT_LEARNT}. They are therefore not annotated and not on the map;"
        f" <code>--cluster</code> clusters them by TCRdist.{units_sentence(results.counts['units'])}",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample"},
    )


def _clones(results: GammaDelta) -> dict:
    clones = results.tables["clones"].head(N_TOP)
    columns = schema.TABLES["gamma_delta_clones"]
    data = {}
    for number, clone in enumerate(tables.named_rows(clones), start=1):
        cells = {"n_cells": clone.n_cells, "share": 100 * clone.largest_share, "samples": clone.samples}
        data[f"{number:02d}"] = chain_cells(clone._asdict(), "no {}", schema.GAMMA_DELTA) | {
            name: escaped(value) if isinstance(value, str) else value
            for name, value in cells.items()
            if not pd.isna(value)
        }
    headers = {
        **chain_headers("Chain: {}", schema.GAMMA_DELTA),
        "n_cells": {"title": "Cells", **COUNT, "description": columns["n_cells"].text},
        "share": {"title": "Largest share", **SHARE, "description": columns["largest_share"].text},
        "samples": text_header("Samples", columns["samples"].text),
    }
    return section(
        "airrvec_gamma_delta_clones",
        "Largest γδ clones",
        f"The {len(clones)} of {counted(results.counts['clones'], 'γδ clone')} with the largest share of a"
        f" sample. All are in <code>{FOLDER}/clones.tsv</code>.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Clone"},
    )


def _clusters(clusters: pd.DataFrame) -> dict:
    if not len(clusters):
        return nothing(
            "airrvec_gamma_delta_clusters", "γδ clusters", "No two γδ receptors are within the radius."
        )
    data = {}
    shown = clusters.sort_values("n_receptors", ascending=False, kind="stable").head(N_TOP)
    for number, cluster in enumerate(tables.named_rows(shown), start=1):
        line = {
            f"consensus_{locus.lower()}": text_cell(
                " ".join(
                    getattr(cluster, f"{locus.lower()}_{name}") or "?"
                    for name in ("v_call", "consensus", "j_call")
                )
                if getattr(cluster, f"{locus.lower()}_consensus")
                else ""
            )
            for locus in schema.GAMMA_DELTA.loci
        }
        numbers = {name: getattr(cluster, name) for name in ("n_receptors", "n_samples", "n_donors")}
        data[f"{number:02d}"] = line | numbers
    headers = chain_headers("Consensus: {}", schema.GAMMA_DELTA)
    headers = {
        **{f"consensus_{name}": header for name, header in headers.items()},
        "n_receptors": {"title": "Receptors", **COUNT, **meaning("gamma_delta_clusters", "n_receptors")},
        "n_samples": {"title": "Samples", **COUNT, **meaning("gamma_delta_clusters", "n_samples")},
        "n_donors": {"title": "Donors", **COUNT, **meaning("gamma_delta_clusters", "n_donors")},
    }
    return section(
        "airrvec_gamma_delta_clusters",
        "γδ clusters",
        f"The largest of {counted(len(clusters), 'cluster')} of γδ receptors by TCRdist. All are in"
        f" <code>{FOLDER}/clusters.tsv</code>.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Cluster"},
    )
