"""
The documented rules once more, as plainly as can be: what becomes of a file, row by row.

For the tests to check airrvec against; nothing here comes from airrvec. Names of genes and germline
sequences are tidytcells'. Only what the files of ../shared/data/formats need is here.
"""

import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path

from plain_rules import gene, junction

MISSING = {"", "None", "NA", "N/A", "NaN", "nan", "null", "NULL"}
AIRR_NEEDED = ("v_call", "j_call", "junction_aa")
FLAGS = {"is_cell": "the barcode was not called a cell"}
FLAGS |= {"high_confidence": "the contig is of low confidence", "productive": "the chain is not productive"}
EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
# α chains and β chains of a cell → scirpy's word; anything else is a multichain.
PAIRING = {(1, 1): "single pair", (2, 1): "extra VJ", (1, 2): "extra VDJ", (2, 2): "two full chains"}
PAIRING |= {(1, 0): "orphan VJ", (2, 0): "orphan VJ", (0, 1): "orphan VDJ", (0, 2): "orphan VDJ"}

# --- Files: a row, as a dictionary of strings and None, to its chains.


def picked(row: dict, **columns: str) -> dict:
    """Our names for what is in the columns of a row."""
    return {name: row.get(column) for name, column in columns.items()}


def tenx(row: dict) -> list[dict]:
    chain = picked(row, locus="chain", v="v_gene", j="j_gene", junction="cdr3", reads="reads", umis="umis")
    return [{"cell": (row.get("sample"), row["barcode"]), **chain, **{flag: row[flag] for flag in FLAGS}}]


def tenx_contig(contig: dict) -> dict:
    """The columns of the CSV file from a contig of the JSON file."""
    features = {part["feature"]["region_type"]: part["feature"] for part in contig["annotations"]}
    chains = {feature["chain"] for feature in features.values()}
    columns = {name: contig[name] for name in ("barcode", "cdr3", *FLAGS)}
    columns |= {"reads": contig["read_count"], "umis": contig["umi_count"]}
    columns |= {"chain": chains.pop() if len(chains) == 1 else "Multi"}
    for name, region in (("v_gene", "L-REGION+V-REGION"), ("j_gene", "J-REGION")):
        columns[name] = features.get(region, {}).get("gene_name")
    return {name: value if value is None else str(value) for name, value in columns.items()}


def airr(row: dict) -> list[dict]:
    names = {"cell": "cell_id", "locus": "locus", "v": "v_call", "j": "j_call", "junction": "junction_aa"}
    chain = picked(row, **names, umis="umi_count", productive="productive", is_cell="is_cell")
    return [{**chain, "reads": row.get("duplicate_count") or row.get("consensus_count")}]


def bd(row: dict) -> list[dict]:
    chain = picked(row, cell="Cell_Index", v="V_gene", j="J_gene", junction="CDR3_Translation")
    chain |= picked(row, reads="Read_Count", umis="Molecule_Count", productive="Productive")
    kind, name = row["Chain_Type"].split("_")  # TCR_Alpha, BCR_Heavy
    locus = {"TCR": "TR", "BCR": "IG"}[kind] + name[0]
    return [{**chain, "locus": locus, "is_cell": row.get("Putative")}]


def immunoseq(row: dict) -> list[dict]:
    calls = {}
    for segment in "vj":  # the allele, else the gene, else the tied genes, else the family
        names = [row.get(f"{segment}_{name}") for name in ("gene", "allele", "gene_ties", "family")]
        nothing = {"unresolved", "unknown", "no data", "na"}
        gene, allele, ties, family = (None if name in nothing else name for name in names)
        calls[segment] = f"{gene}*{allele.zfill(2)}" if gene and allele else gene or ties or family
    productive = {"In": "true", "Out": "false", "Stop": "false"}[row["frame_type"]]
    locus = "TR" + (calls["v"] or calls["j"])[3]  # TCRBV28-01
    return [{**calls, "locus": locus, "junction": row["amino_acid"], "productive": productive}]


def tcrdist(row: dict) -> list[dict]:
    alpha = {"locus": "TRA", **picked(row, v="v_a_gene", j="j_a_gene", junction="cdr3_a_aa")}
    beta = {"locus": "TRB", **picked(row, v="v_b_gene", j="j_b_gene", junction="cdr3_b_aa")}
    return [chain for chain in (alpha, beta) if chain["v"] or chain["j"] or chain["junction"]]


def vdjtools(row: dict) -> list[dict]:
    chain = picked(row, v="v", j="j", junction="cdr3aa")
    return [{name: None if value == "." else value for name, value in chain.items()}]


FORMATS = {"10x": tenx, "airr": airr, "bd": bd, "immunoseq": immunoseq}
FORMATS |= {"labelled": tcrdist, "vdjtools": vdjtools}


def rows_of(path: Path) -> list[dict | str]:
    """Rows of a file, each a dictionary, or why it is none."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as handle:
        if path.suffix == ".json":
            return [tenx_contig(contig) for contig in json.load(handle)]
        lines = [line for line in handle if line.strip() and not line.startswith("##")]
    header, *table = csv.reader(lines, delimiter="\t" if "\t" in lines[0] else ",")
    rows = []
    for cells in table:
        # The last cells may be missing where no needed column is among them.
        if "junction_aa" in header and max(map(header.index, AIRR_NEEDED)) < len(cells) < len(header):
            cells += [""] * (len(header) - len(cells))
        values = [None if cell.strip() in MISSING else cell.strip() for cell in cells]
        row = dict(reversed(list(zip(header, values, strict=False))))  # of two columns of a name the first
        malformed = f"holds {len(cells)} field{'s' * (len(cells) != 1)}, the header {len(header)}"
        rows.append(row if len(cells) == len(header) else malformed)
    return rows


# --- Rules.


def standard(raw: dict, species: str) -> tuple[dict, str | None]:
    """A chain with its names in IMGT's spelling, and the first rule that it breaks."""
    v, v_frame, v_problem = gene(raw["v"], "V", species)
    j, j_frame, j_problem = gene(raw["j"], "J", species)
    productive = (raw.get("productive") or "").lower() in ("true", "t", "1", "yes")
    if v_frame and not productive:
        v_problem = "v_call is an open reading frame, and the input does not call the chain productive"
    locus = raw.get("locus") or ""
    if not re.fullmatch("(TR|IG)[A-Z]", locus):  # 10x's Multi, say
        locus = (v or j or raw["v"] or raw["j"] or locus)[:3]
    chain = {"cell": None, "reads": None, "umis": None, **raw, "v": v, "j": j, "locus": locus}
    chain["frame"] = v_frame or j_frame
    if not locus:
        return chain, "locus, v_call and j_call are missing"
    if locus not in ("TRA", "TRB"):
        return chain, "not an α or β chain of a T-cell receptor"
    for flag, words in FLAGS.items():
        if (raw.get(flag) or "").lower() in ("false", "f", "0", "no"):
            return chain, words
    chain["junction"], problem = junction(chain, species)
    if problem or v_problem or j_problem:
        return chain, problem or v_problem or j_problem
    for name in ("v", "j"):
        if chain[name] and chain[name][:3] != locus:
            return chain, f"{name}_call is of another locus than the chain"
    return chain, None


def count(path: Path, species: str = "homosapiens") -> dict:
    """What becomes of a file: numbers, and the cells and rejects themselves."""
    chains_of = FORMATS[path.name.split("_")[0]]
    rows, by_cell, rejects, other_loci = rows_of(path), {}, [], Counter()
    for number, row in enumerate(rows, start=1):
        chains = [] if isinstance(row, str) else chains_of(row)
        if not chains:
            rejects.append((number, row if isinstance(row, str) else "the row holds no chain"))
        for raw in chains:
            chain, problem = standard(raw, species)
            if problem:
                rejects.append((number, problem))
                other_loci[chain["locus"]] += problem.startswith("not an α or β")
                continue
            # A row without a cell is one.
            cell = by_cell.setdefault(chain["cell"] or number, {"TRA": [], "TRB": []})
            cell[chain["locus"]].append({**chain, "row": number})
    cells, kept_rows, no_chain = [], set(), {"v": None, "j": None, "junction": None}
    for cell in by_cell.values():
        receptor = []
        for chains in cell.values():
            # Most UMIs, then reads, then functional genes, then the first; none at all is less than 0.
            chains.sort(
                key=lambda chain: [*(-int(chain[name] or -1) for name in ("umis", "reads")), chain["frame"]]
            )
            receptor += [(chains or [no_chain])[0][name] for name in no_chain]
            kept_rows |= {chain["row"] for chain in chains[:1]}
            rejects += [(chain["row"], EXTRA) for chain in chains[1:]]
        word = PAIRING.get((len(cell["TRA"]), len(cell["TRB"])), "multichain")
        cells.append((word, *receptor))
    kept = sum(number in kept_rows for number in range(1, len(rows) + 1))
    numbers = {"rows": len(rows), "kept": kept, "rejected": len(rows) - kept, "cells": len(cells)}
    return numbers | {
        "receptors": len({cell[1:] for cell in cells}),
        "pairing": dict(Counter(cell[0] for cell in cells)),
        "reasons": dict(Counter(reason for _, reason in rejects)),
        "other_loci": dict(+other_loci),
        "all_cells": cells,
        "all_rejects": rejects,
    }
