"""Public receptors: clonotypes that two or more samples of a run carry."""

from airrvec.core import schema
from airrvec.core.progress import step
from airrvec.repertoire.repertoires import Repertoires

import numpy as np
import pyarrow as pa


@step("public receptors")
def public_table(repertoires: Repertoires) -> pa.Table:
    """
    Return `airrvec.core.schema.PUBLIC_RECEPTORS`, one row per clonotype of two or more samples.

    The clonotypes of most samples come first, then those of most cells. Fields and ``receptor_id`` are those
    of the first receptor of the clonotype.
    """
    counts = repertoires.counts
    n_samples = counts.groupby("receptor")["sample_id"].nunique()
    public = n_samples.index[n_samples > 1]
    rows = counts[counts["receptor"].isin(public)].sort_values(["receptor", "sample_id"])
    names = rows.groupby("receptor")["sample_id"].agg(lambda names: ";".join(dict.fromkeys(names)))
    frame = repertoires.totals(rows, "receptor").assign(samples=names)
    frame = frame.reset_index().sort_values(
        ["n_samples", "n_cells", "receptor"], ascending=[False, False, True]
    )
    found = frame["receptor"].to_numpy(np.int64)
    receptors = repertoires.read_receptors(found)
    columns = {name: receptors[name] for name in receptors.column_names}
    columns |= {name: pa.array(frame[name]) for name in ("samples", "n_samples", "n_cells", "count_unit")}
    columns["chains"] = pa.array(repertoires.chains[found], pa.string())
    return pa.table({name: columns[name] for name in schema.PUBLIC_RECEPTORS.names}).cast(
        schema.PUBLIC_RECEPTORS
    )
