"""The error of encoders, and the loci that they can read."""

from airrvec.core import schema

import pyarrow as pa
import pyarrow.compute as pc


class NotMeasurable(Exception):
    """An encoder cannot measure the given receptors; the message is the reason."""


def present_loci(encoder: str, fields: tuple[str, ...], *tables: pa.Table) -> list[str]:
    """
    Return the loci present in receptors, for an encoder that needs some fields of every chain.

    Parameters
    ----------
    encoder : str
        Title of the encoder, for the error.
    fields : tuple of str
        Fields that the encoder needs, from `airrvec.core.schema.CHAIN_FIELDS`.
    tables : pyarrow.Table
        ``receptors``. A locus is excluded if no receptor has any of the fields.

    Raises
    ------
    NotMeasurable
        If only some receptors have a field, or no receptor has any.
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
                raise NotMeasurable(
                    f"{encoder} needs {name} for all receptors or for none; '{first}' lacks it"
                )
        loci.append(locus)
    if not loci:
        raise NotMeasurable(f"{encoder} needs {' and '.join(fields)} of a chain; no receptor has it")
    return loci
