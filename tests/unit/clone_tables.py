"""The clones of tables of cells, by ``count_clones.py``, for the tests of what reads them."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from airrvec.core import schema, tables

import pandas as pd
import pyarrow as pa


def chains_of(cells: pa.Table, receptors: pa.Table) -> pa.Table:
    """Chains of cells: those of their receptors, without nucleotides."""
    rows = pd.Index(receptors["receptor_id"].to_pylist()).get_indexer(cells["receptor_id"].to_pylist())
    fields = receptors.take(pa.array(rows)).to_pylist()
    chains = [
        {
            "sample_id": sample,
            "cell_row": number,
            "locus": locus,
            **{name: receptor[schema.field(locus, name)] for name in schema.CHAIN_FIELDS},
        }
        for number, (sample, receptor) in enumerate(
            zip(cells["sample_id"].to_pylist(), fields, strict=True), start=1
        )
        for locus in schema.LOCI
        if any(receptor[schema.field(locus, name)] for name in schema.CHAIN_FIELDS)
    ]
    return pa.Table.from_pylist(chains, schema.CHAINS)


def with_receptors(cells: pa.Table, receptors: pa.Table) -> pa.Table:
    """Cells with species and clonotype of their receptors, which cells made by hand may lack."""
    rows = pd.Index(receptors["receptor_id"].to_pylist()).get_indexer(cells["receptor_id"].to_pylist())
    for name in ("species", "clonotype_id"):
        values = receptors[name].take(pa.array(rows, mask=rows < 0)).combine_chunks()
        cells = cells.set_column(cells.column_names.index(name), name, values)
    return cells


def count(folder: Path, cells: Sequence[Path | str], receptors: Path | str, *options: str) -> Path:
    """
    Count clones below ``folder``; return their folder.

    Parameters
    ----------
    cells
        ``<sample>.cells.parquet``; where no ``<sample>.chains.parquet`` is beside one, the chains are made of
        the receptors.
    receptors
        File or folder of receptors; those of several samples may repeat.
    """
    import count_clones

    made = folder / "clones"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    paths = [receptors] if Path(receptors).is_file() else sorted(Path(receptors).glob("*receptors*.parquet"))
    columns = [*schema.RECEPTORS.names]
    together = tables.distinct_receptors(pa.concat_tables([tables.read(path, columns) for path in paths]))
    tables.write(together, made / "all.parquet")
    whole, chains = [], []
    for path in map(Path, cells):
        beside = path.with_name(f"{tables.sample_name(path)}.chains.parquet")
        table = with_receptors(tables.read(path), together)
        path = made / path.name
        tables.write(table, path)
        if not beside.exists():
            beside = made / beside.name
            tables.write(chains_of(table, together), beside)
        whole.append(path)
        chains.append(beside)
    words = ("--cells", *whole, "--chains", *chains, "--receptors", made / "all.parquet", "--outdir", made)
    count_clones.main([*map(str, words), *options])
    return made
