"""Tables as the bytes of Arrow streams."""

import pyarrow as pa


def packed(table: pa.Table) -> pa.Buffer:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def unpacked(content: pa.Buffer | bytes) -> pa.Table:
    """Return the table of `packed`."""
    return pa.ipc.open_stream(content).read_all()
