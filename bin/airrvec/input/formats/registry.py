"""Registry of formats, and detection of the format of a file."""

from collections.abc import Mapping
from types import ModuleType

from airrvec.core.errors import InputError
from airrvec.input.files.container import Container
from airrvec.input.formats import (
    airr_rearrangement,
    bd_rhapsody,
    clc,
    clustcr,
    conga,
    iedb,
    iggytop,
    immrep,
    immunarch,
    immunoseq,
    mcpas,
    merged_reference,
    mixcr,
    mixcr_groups,
    mixtcrpred,
    parse,
    sceptr,
    scirpy,
    screpertoire,
    tcrdist,
    tenx,
    tenx_clonotypes,
    tenx_dextramer,
    tirtl,
    trust4,
    vdjdb,
    vdjtools,
)
from airrvec.input.formats.column_map import ROW_FILTER

# In order of detection: a layout that contains the columns of another layout comes first.
FORMATS: dict[str, ModuleType] = {
    reader.NAME: reader
    for reader in (
        airr_rearrangement,
        tenx,
        tenx_clonotypes,
        tenx_dextramer,
        vdjdb,
        merged_reference,
        sceptr,
        tcrdist,
        vdjtools,
        immunoseq,
        mixcr,
        mixcr_groups,
        bd_rhapsody,
        mcpas,
        iedb,
        trust4,
        parse,
        scirpy,
        screpertoire,
        clc,
        iggytop,
        tirtl,
        mixtcrpred,
        conga,
        immunarch,
        immrep,
        clustcr,
    )
}

# Columns of a table that holds no chains → what the table is, and what to do.
_WITHOUT_CHAINS = {
    ("barcode", "antigen", "antigen_specificity_score"): (
        "is antigen_specificity_scores.csv of 10x, which has no chains",
        "Join its antigens to filtered_contig_annotations.csv, as 'Antigens of 10x experiments' in"
        " docs/reference/input.md shows, and give that table",
    )
}


def matching_header_rows(reader, container: Container) -> int | None:
    """Return the number of header rows with which a file has the reader's columns, or None."""
    for header_rows in getattr(reader, "HEADER_ROWS", (1,)):
        names = set(container.names(header_rows))
        if any(names.issuperset(layout) for layout in reader.LAYOUTS):
            return header_rows
    return None


def unexpected_columns(reader, container: Container) -> set[str]:
    """Return the columns that a closed format does not have; a file with such columns is not this format."""
    known = {*(name for layout in reader.LAYOUTS for name in layout), *reader.OPTIONAL}
    return set(container.names()) - known if getattr(reader, "CLOSED", False) else set()


def format_by_name(path, format: str) -> ModuleType:
    if format not in FORMATS:
        raise InputError(
            f"there is no format '{format}'", file=path, fix=f"Known formats: {', '.join(FORMATS)}"
        )
    return FORMATS[format]


def detect_format(path, container: Container) -> ModuleType | None:
    """Return the first format whose columns a file has; None if there is none."""
    for reader in FORMATS.values():
        if matching_header_rows(reader, container) and not unexpected_columns(reader, container):
            return reader
    for columns, (message, fix) in _WITHOUT_CHAINS.items():
        if set(columns) <= set(container.names()):
            raise InputError(message, file=path, fix=fix)
    return None


def check_columns(path, reader: ModuleType, container: Container) -> None:
    if matching_header_rows(reader, container):
        return
    names = container.names(max(getattr(reader, "HEADER_ROWS", (1,))))
    closest = min(reader.LAYOUTS, key=lambda layout: len(set(layout) - set(names)))
    missing = [name for name in closest if name not in names]
    wrong_text = reader.DELIMITER not in (None, container.delimiter)
    if container.delimiter and wrong_text and len(missing) == len(closest):
        words = {"\t": "tab", ",": "comma"}
        raise InputError(
            f"format '{reader.NAME}' is {words[reader.DELIMITER]}-separated, and this file is"
            f" {words[container.delimiter]}-separated",
            file=path,
            fix=f"Correct the column 'format' of the samplesheet; known formats: {', '.join(FORMATS)}",
        )
    raise InputError(
        f"missing, though format '{reader.NAME}' needs it"
        + (f"; so are {', '.join(missing[1:])}" if missing[1:] else ""),
        file=path,
        column=missing[0],
        fix=f"The file has: {shown(names, 12)}",
    )


def check_map(path, columns: Mapping, container: Container) -> None:
    names = container.names()
    mapped = [(field, name) for field, name in columns.items() if field != ROW_FILTER]
    for field, name in [*mapped, *((ROW_FILTER, name) for name in columns.get(ROW_FILTER, ()))]:
        if name not in names:
            raise InputError(
                f"missing, though the column map gives it as {field}",
                file=path,
                column=name or " ",
                fix=f"Correct the column map; the file has: {shown(names, 12)}",
            )


def shown(names: list[str], n: int) -> str:
    """Return the first ``n`` names, for a message."""
    return ", ".join(names[:n]) + (", …" if len(names) > n else "")
