"""Outcomes of readers, compared."""

from airrvec.input import reading

import pyarrow as pa
import pyarrow.csv

BMMNC = "formats/10x_bmmnc_all_contig_annotations_small"


def chains_in(path, format=None, columns=None) -> pa.Table:
    return pa.concat_tables(batch.chains for batch in reading.open_chains(path, format, columns).batches)


def same(one, other) -> None:
    """The same outcome, but for warnings and roles, which may speak of the header."""
    for name in ("cells", "receptors", "rejects"):
        assert getattr(one, name).equals(getattr(other, name))
    of_header = {"warnings": None, "roles": None}
    assert one.counts | of_header == other.counts | of_header
