"""Genes, CDR3 lengths and V–J pairs of samples in the MultiQC report."""

import re

from airrvec.core import schema
from airrvec.core.chains import GREEK
from airrvec.input import species_names
from airrvec.report.looks import DASHES, broken_words, looks
from airrvec.report.page import escaped, heatmap, section, unit_words, units_of, units_sentence

import pandas as pd

MAX_ROWS = 60  # samples in a heatmap
MAX_LINES = 14  # samples in a line graph
MAX_PAIRS = 40  # V–J pairs in a heatmap
FEWEST = 20  # cells of a sample that is drawn: a few cells would be the darkest of all
FEW = 100  # with fewer receptors, shares of genes are mostly chance
_MEDIAN = "Median of all samples"


def gene_sections(usage: pd.DataFrame, folder: str = "samples", prefix: str = "repertoire") -> list[dict]:
    """
    Return a heatmap of V and one of J genes for each locus and species that occur.

    ``folder``: of the table in the results; ``prefix``: of the sections.
    """
    sections = []
    for (species, locus, segment), rows in _groups(usage, ["species", "locus", "segment"]):
        rows, left_out = _without_few(rows)
        shown, words = _rows_to_show(_wide(rows, ["gene"]))
        suffix = _suffix(usage, species)
        sections.append(
            heatmap(
                f"airrvec_{prefix}_{locus.lower()}{segment.lower()}{_id(usage, species)}",
                f"{segment} genes, {GREEK[locus]} chains{suffix}",
                f"Share of the cells of each sample that use a {segment} gene, of those with a known one."
                " Columns that are dark in all samples are frequent genes; a dark cell in one row only is a"
                " large clone or a difference between samples. Not comparable: samples"
                f" with fewer than {FEW} receptors, or of different kits, whose primers favour different"
                f" genes.{words}{left_out}{units_sentence(units_of(rows))} All shares, of"
                f" cells and of clones, are in <code>{folder}/gene_usage.tsv</code>.",
                shown.round(3),
                xlab="Gene",
                ylab="Sample",
                zlab=f"% of {unit_words(rows['count_unit'])}",
            )
        )
    return sections


def pairing_sections(pairing: pd.DataFrame) -> list[dict]:
    """Return a heatmap of the most frequent V–J pairs for each locus and species that occur."""
    sections = []
    for (species, locus), rows in _groups(pairing, ["species", "locus"]):
        rows, left_out = _without_few(rows)
        shares = _wide(rows, ["v_gene", "j_gene"])
        shares.columns = [" ".join(genes) for genes in shares.columns]
        top = shares.mean().sort_values(ascending=False, kind="stable").index[:MAX_PAIRS]
        ordered = sorted(top, key=_gene_order)
        shown, words = _rows_to_show(shares[ordered])
        sections.append(
            heatmap(
                f"airrvec_repertoire_{locus.lower()}_pairs{_id(pairing, species)}",
                f"V–J pairs, {GREEK[locus]} chains{_suffix(pairing, species)}",
                f"Share of the cells of each sample with a pair of V and J gene in the same chain; the"
                f" {len(top)} pairs with the highest mean share of {shares.shape[1]:,}. A pair that is dark"
                " in one sample only usually is a large clone: look for it among the largest clones. A pair"
                " of a few cells is doubtful: most pairs are rare, and chance alone makes some of them"
                f" differ.{words}{left_out}{units_sentence(units_of(rows))} All pairs are in"
                " <code>samples/vj_pairing.tsv</code>.",
                shown.round(3),
                xlab="Pair",
                ylab="Sample",
                zlab=f"% of {unit_words(rows['count_unit'])}",
            )
        )
    return sections


def lengths_section(lengths: pd.DataFrame) -> dict:
    """Return the line graph of CDR3 lengths, one tab per locus and species."""
    data, labels, words = [], [], set()
    for (species, locus), rows in _groups(lengths, ["species", "locus"]):
        rows, left_out = _without_few(rows)
        words.add(left_out)
        shares = _wide(rows, ["length"])
        length_range = range(int(shares.columns.min()), int(shares.columns.max()) + 1)
        shown = shares = shares.reindex(columns=length_range, fill_value=0)
        if len(shown) > MAX_LINES:
            shown = shown.loc[_unusual(shown, MAX_LINES - 1)]
            shown.loc[_MEDIAN] = shares.median()
            words.add(
                f" Of {len(shares):,} samples, the {MAX_LINES - 1} that differ most from the median are"
                " shown, and the median."
            )
        data.append({escaped(name): list(row.items()) for name, row in shown.iterrows()})
        labels.append(
            {"name": f"{GREEK[locus]} chains{_suffix(lengths, species)}", "xlab": "CDR3 length, residues"}
        )
    chosen = looks(data, DASHES)
    broken = broken_words(chosen, DASHES[0], "Samples with the same colour differ in their dashes.")
    return section(
        "airrvec_repertoire_lengths",
        "CDR3 lengths",
        "Share of the cells of each sample by the length of the CDR3, without the conserved C and F or W of"
        " the junction. A repertoire without large clones gives a bell around 12 or 13 residues; a peak is a"
        f" large clone. In samples with fewer than {FEW} cells, peaks mean little.{''.join(sorted(words))}"
        f"{broken}{units_sentence(units_of(lengths))} Counts are in <code>samples/cdr3_lengths.tsv</code>.",
        "linegraph",
        data,
        pconfig={
            "xlab": "CDR3 length, residues",
            "ylab": f"Share of {unit_words(lengths['count_unit'])}, %",
            "ymin": 0,
            "x_decimals": False,
            "showlegend": True,
            "colors": {name: colour for name, (colour, _) in chosen.items()},
            "dash_styles": {name: dash for name, (_, dash) in chosen.items()},
            "data_labels": labels,
        },
    )


def _groups(frame: pd.DataFrame, columns: list[str]):
    """Yield the rows of each group; β (or δ) chains first, V before J."""
    keys = frame[columns].drop_duplicates()
    loci = [*schema.LOCI[::-1], *schema.GAMMA_DELTA.loci[::-1]]
    place = {word: number for number, word in enumerate([*schema.SPECIES, *loci, *"VJ"])}
    for key in sorted(map(tuple, keys.to_numpy()), key=lambda key: [place[part] for part in key]):
        yield key, frame[(frame[columns] == list(key)).all(axis=1)]


def _without_few(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows of samples with at least `FEWEST` cells, or all if none has, and a sentence on it."""
    cells = rows.groupby("sample_id")["n_cells"].sum()
    few = cells.index[cells < FEWEST]
    if not len(few) or len(few) == len(cells):
        return rows, ""
    names = ", ".join(escaped(name) for name in few[:5]) + (" and others" if len(few) > 5 else "")
    return rows[~rows["sample_id"].isin(few)], f" Left out, with fewer than {FEWEST} such cells: {names}."


def _wide(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return the share of cells in per cent: a row per sample, a column per value, in the genes' order."""
    wide = rows.pivot_table(index="sample_id", columns=columns, values="cell_share", fill_value=0.0) * 100
    if columns == ["gene"]:
        ordered = sorted(wide.columns, key=_gene_order)
        return wide[ordered]
    return wide


def _gene_order(name: str) -> list:
    """Return a key that sorts TRBV2 before TRBV10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _rows_to_show(shares: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return all samples, or those that differ most from the median and the median, and a sentence on it."""
    if len(shares) <= MAX_ROWS:
        return shares, ""
    shown = pd.concat(
        [shares.median().to_frame(_MEDIAN).T, shares.loc[sorted(_unusual(shares, MAX_ROWS - 1))]]
    )
    words = (
        f" Of {len(shares):,} samples, the {MAX_ROWS - 1} that differ most from the median are shown, below"
        " the median."
    )
    return shown, words


def _unusual(shares: pd.DataFrame, n: int) -> list[str]:
    """Return the names of the ``n`` samples that are furthest from the median, by the sum of differences."""
    distance = (shares - shares.median()).abs().sum(axis=1)
    return list(distance.sort_values(ascending=False, kind="stable").index[:n])


def _suffix(frame: pd.DataFrame, species: str) -> str:
    return f", {species_names.TITLES[species]}" if len(set(frame["species"])) > 1 else ""


def _id(frame: pd.DataFrame, species: str) -> str:
    return f"_{species}" if len(set(frame["species"])) > 1 else ""
