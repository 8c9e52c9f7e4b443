"""The receptors that annotation compares with, as a table that its `nearest_1_id` leads to."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.annotation import reference_set
from airrvec.annotation.reference_set import Reference
from airrvec.core import identity, schema, tables
from airrvec.core.chains import CHAIN_CLASSES, has_chains, on_chains


def reference_table(
    references: dict[tuple[str, str], Reference | None],
    cells: pa.Table,
    receptors: pa.Table,
    exclude_references: str | None = None,
) -> pa.Table:
    """
    Every label of the references.

    Parameters
    ----------
    references : dict
        By species and class of chains; None where a class was not calibrated.
    cells, receptors, exclude_references
        What they were made of, as in `airrvec.annotation.reference_set.labelled_reference`.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.ANNOTATION_REFERENCE`, by ``receptor_id``; without receptors that no class knows.
    """
    receptors = tables.distinct(receptors)
    for chains in CHAIN_CLASSES:
        known = [reference for (_, of_chains), reference in references.items() if of_chains == chains]
        receptors = receptors.append_column(f"{chains}_id", _known_as(receptors, known, chains))
    used = pc.is_valid(pc.coalesce(*(receptors[f"{chains}_id"] for chains in CHAIN_CLASSES)))
    labels = [name for name in schema.LABELS if name != "split"]
    names = pa.schema([(name, pa.string()) for name in ("receptor_id", *labels)])
    cells = reference_set.labelled_cells(cells, exclude_references).select(names.names).cast(names)
    evidence = cells.group_by(["receptor_id", *labels]).aggregate([([], "count_all")])
    evidence = evidence.rename_columns([*evidence.column_names[:-1], "n_cells"])
    joined = evidence.join(
        receptors.filter(used).drop_columns("chain_pairing"), "receptor_id", join_type="inner"
    )
    order = [(name, "ascending") for name in ("receptor_id", "epitope", "reference_id")]
    return joined.select(schema.ANNOTATION_REFERENCE.names).cast(schema.ANNOTATION_REFERENCE).sort_by(order)


def _known_as(receptors: pa.Table, references: list[Reference | None], chains: str) -> pa.Array:
    """Of each receptor the receptor_id by which a class knows it: that of the first one of its clonotype."""
    named = [
        reference.receptors.select(["receptor_id", "clonotype_id"]) for reference in references if reference
    ]
    if not named:
        return pa.nulls(len(receptors), pa.string())
    known = pa.concat_tables(named).combine_chunks()
    shown = identity.clonotype_ids(on_chains(receptors.select(schema.RECEPTORS.names), chains))
    place = pc.index_in(shown, known["clonotype_id"].combine_chunks())
    place = pc.if_else(pa.array(has_chains(receptors, chains)), place, None)
    return known["receptor_id"].combine_chunks().take(place)
