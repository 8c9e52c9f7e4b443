"""Table of reference receptors, which the column ``nearest_1_id`` of an annotation refers to."""

from airrvec.annotation import reference_set
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import identity, schema, tables
from airrvec.core.chains import CHAIN_CLASSES, has_chains, on_chains
from airrvec.core.progress import step

import pyarrow as pa
import pyarrow.compute as pc


@step("table of references")
def reference_table(
    references: dict[tuple[str, str], ReferenceSet | None],
    cells: pa.Table,
    receptors: pa.Table,
    exclude_references: str | None = None,
) -> pa.Table:
    """
    Return all labels of the reference receptors.

    Parameters
    ----------
    references : dict
        Reference sets by species and chain class; None for a class without references.
    cells, receptors, exclude_references
        Inputs of `airrvec.annotation.reference_set.build_reference_set` that made these reference sets.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.ANNOTATION_REFERENCE`, sorted by ``receptor_id``, without receptors of no class.
    """
    receptors = reference_set.without_copies(tables.distinct_receptors(receptors))
    for chains in CHAIN_CLASSES:
        in_class = [reference for (_, chain_class), reference in references.items() if chain_class == chains]
        receptors = receptors.append_column(f"{chains}_id", _representative_ids(receptors, in_class, chains))
    used = pc.is_valid(pc.coalesce(*(receptors[f"{chains}_id"] for chains in CHAIN_CLASSES)))
    labels = schema.REFERENCE_LABELS
    names = pa.schema([(name, pa.string()) for name in ("receptor_id", *labels)])
    cells = reference_set.select_labelled_cells(cells, exclude_references).select(names.names).cast(names)
    evidence = cells.group_by(["receptor_id", *labels]).aggregate([([], "count_all")])
    evidence = evidence.rename_columns([*evidence.column_names[:-1], "n_cells"])
    joined = evidence.join(
        receptors.filter(used).drop_columns("chain_pairing"), "receptor_id", join_type="inner"
    )
    order = [(name, "ascending") for name in ("receptor_id", "epitope", "reference_id")]
    return joined.select(schema.ANNOTATION_REFERENCE.names).cast(schema.ANNOTATION_REFERENCE).sort_by(order)


def _representative_ids(receptors: pa.Table, references: list[ReferenceSet | None], chains: str) -> pa.Array:
    """Return the receptor_id that represents each receptor in a class: the first one of its clonotype."""
    parts = [
        reference.receptors.select(["receptor_id", "clonotype_id"]) for reference in references if reference
    ]
    if not parts:
        return pa.nulls(len(receptors), pa.string())
    known = pa.concat_tables(parts).combine_chunks()
    clonotype_ids = identity.clonotype_ids(on_chains(receptors.select(schema.RECEPTORS.names), chains))
    row = pc.index_in(clonotype_ids, known["clonotype_id"].combine_chunks())
    row = pc.if_else(pa.array(has_chains(receptors, chains)), row, None)
    return known["receptor_id"].combine_chunks().take(row)
