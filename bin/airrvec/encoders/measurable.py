"""Errors of encoders, and the loci that an encoder can read."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema


class NotMeasurable(Exception):
    """What an encoder cannot do with the receptors that it was given; the message is the reason."""


def present_loci(encoder: str, fields: tuple[str, ...], *tables: pa.Table) -> list[str]:
    """
    The loci that receptors have, for an encoder that needs some fields of every chain.

    Parameters
    ----------
    encoder : str
        Its title, for the error.
    fields : tuple of str
        Of `airrvec.core.schema.CHAIN_FIELDS`, those that it needs.
    tables : pyarrow.Table
        ``receptors``. A locus of which none of them has any of the fields is left out.

    Raises
    ------
    NotMeasurable
        If a field is known for some receptors alone, or nothing for any.
    """
    joined = pa.concat_tables(table.select(["receptor_id", *schema.RECEPTOR_FIELDS]) for table in tables)
    loci = []
    for locus in schema.LOCI:
        names = [schema.field(locus, name) for name in fields]
        if all(joined[name].null_count == len(joined) for name in names) and len(joined):
            continue
        for name in names:
            if joined[name].null_count:
                first = joined["receptor_id"].filter(pc.is_null(joined[name]))[0]
                raise NotMeasurable(f"{encoder} needs {name} of all receptors or of none; '{first}' lacks it")
        loci.append(locus)
    if not loci:
        raise NotMeasurable(f"{encoder} needs {' and '.join(fields)} of a chain; no receptor has it")
    return loci
