"""V genes of the β chain in each sample, as a heat map."""

from airrvec.core.terminal import counted
from airrvec.figures.run.material import NotDrawn, Results, heat_map, sample_labels, shown_samples
from airrvec.figures.style import escape_mathtext

import pandas as pd

TITLE = "V genes of the β chain"
LEGEND = (
    "Share of each sample's clones with a V gene of the β chain, whatever their size. The genes with the"
    " largest means are drawn."
)
N_GENES = 20
MIN_CLONES = 20  # of a sample; the shares of fewer say nothing, and would set the scale
LOCUS = "TRB"


def table(results: Results) -> pd.DataFrame:
    """Return the rows of `airrvec.core.schema.GENE_USAGE` of the β chain's V genes, with conditions."""
    usage = results.read("gene_usage")
    usage = usage[(usage["locus"] == LOCUS) & (usage["segment"] == "V")]
    if usage.empty:
        raise NotDrawn("no sample has a β chain")
    return results.with_conditions(usage)


def draw(table: pd.DataFrame):
    """Draw the species of most rows: a row for each gene, a column for each sample."""
    rows = table[table["species"] == table["species"].mode().iloc[0]]
    clones = rows.groupby("sample_id")["n_clones"].sum()
    many = rows[rows["sample_id"].isin(clones.index[clones >= MIN_CLONES])]
    few = len(clones) - len(many["sample_id"].unique()) if len(many) else 0
    rows = many if len(many) else rows
    samples, note = shown_samples(rows, "n_clones")
    left_out = f"without {counted(few, 'sample')} of fewer than {MIN_CLONES} clones" if few else ""
    note = "; ".join(words for words in (note, left_out) if words)
    shares = rows.pivot_table("clone_share", "gene", "sample_id", fill_value=0).reindex(columns=samples)
    genes = shares.mean(axis=1).sort_values(ascending=False, kind="stable").index[:N_GENES]
    labels = [escape_mathtext(gene) for gene in genes]
    return heat_map(
        100 * shares.reindex(genes), labels, sample_labels(rows, samples), "Share of clones (%)", note
    )
