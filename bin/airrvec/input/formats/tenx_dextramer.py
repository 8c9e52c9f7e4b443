"""
10x Genomics dextramer experiments: ``…_binarized_matrix.csv``, a cell in a row, with the dextramers it binds.

A column ``A0201_GILGFVFTL_Flu-MP_Influenza`` counts a dextramer, and the same name with ``_binder`` says
whether the cell binds it. Which dextramers there are differs from experiment to experiment.
"""

import re
from dataclasses import dataclass
from functools import cache

from airrvec.input.formats.chains import chain_table, column, named_junctions
from airrvec.input.values import truths

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NAME = "10x_dextramer"
TITLE = "10x dextramer experiment (binarized_matrix.csv)"
ROW = "cell"
DELIMITER = ","
LAYOUTS = (("barcode", "cell_clono_cdr3_aa"),)
OPTIONAL = ("reference_id",)
METHOD = "10x dextramer"

# pandas and R add .1 to a name that occurs twice.
_BINDER = re.compile(r"(?P<name>.+)_binder(\.\d+)?")
_DEXTRAMER = re.compile(
    r"(?P<mhc>[^_\s]+)[_ ](?P<epitope>[ACDEFGHIKLMNPQRSTVWY]{5,})(?:[_ ]+(?P<antigen>.*?))?[_ ]*"
)
_CONTROL = re.compile(r"(^|[_ ])NC$|^NR\(|neg(ative)?[ _-]*(control|ctrl)", re.IGNORECASE)
_CLASS_I = re.compile(r"(?:HLA-)?([ABCEFG])\*?(\d{2}):?(\d{2})")
# The last part of HPV-16E7_82-91 and of WT1-(235-243)236M_Y is no species; Cancer is a disease.
_SPECIES = re.compile(r"(?P<gene>.+)[_ ](?P<species>[A-Za-z][\w-]{2,})")
_NO_SPECIES = ("cancer", "tumor", "tumour")


@dataclass(frozen=True)
class Dextramer:
    """
    Labels of a dextramer; all are None for a negative control.

    Attributes
    ----------
    is_control : bool
        Whether it is a negative control.
    epitope, mhc_a, antigen_gene, antigen_species : str or None
        As in `airrvec.core.schema.LABELS`.
    """

    is_control: bool
    epitope: str | None = None
    mhc_a: str | None = None
    antigen_gene: str | None = None
    antigen_species: str | None = None


_LABELS = ("epitope", "mhc_a", "antigen_gene", "antigen_species")


@cache
def dextramer(column_name: str) -> Dextramer | None:
    """
    Return the dextramer that the name of a ``…_binder`` column describes.

    Parameters
    ----------
    column_name : str
        ``A0201_GILGFVFTL_Flu-MP_Influenza_binder`` is ``GILGFVFTL`` of ``Flu-MP`` of ``Influenza``, on
        ``HLA-A*02:01``. Blanks may stand for underscores. A last part of the antigen of less than three
        characters, or that does not begin with a letter, belongs to the gene. ``…_NC``, ``NR(…)_…`` and
        ``negative control`` are controls.

    Returns
    -------
    Dextramer or None
        None for any other column.
    """
    match = _BINDER.fullmatch(column_name.strip())
    if not match:
        return None
    name = match["name"].strip()
    if _CONTROL.search(name):
        return Dextramer(is_control=True)
    parts = _DEXTRAMER.fullmatch(name)
    if not parts:
        return None
    gene, species = parts["antigen"] or None, None
    if gene and (split := _SPECIES.fullmatch(gene)):
        gene, species = split["gene"].rstrip("_ "), split["species"]
    if species and species.lower() in _NO_SPECIES:
        species = None
    class_i = _CLASS_I.fullmatch(parts["mhc"])
    mhc = "HLA-{}*{}:{}".format(*class_i.groups()) if class_i else parts["mhc"]
    return Dextramer(False, parts["epitope"], mhc, gene, species)


def further(columns: list[str]) -> list[str]:
    """Return the columns that say whether a cell binds a dextramer."""
    return [name for name in columns if dextramer(name)]


def warnings(columns: list[str]) -> list[str]:
    """Return warnings of columns and cells that give no label."""
    binders = [name for name in columns if _BINDER.fullmatch(name.strip())]
    if not binders:
        return ["no cell has a label: no column says which dextramers a cell binds (…_binder)"]
    sentences = []
    if unread := [name for name in binders if not dextramer(name)]:
        sentences.append(f"not read as a label, because it is not MHC_PEPTIDE_…_binder: {', '.join(unread)}")
    if controls := [name for name in binders if (known := dextramer(name)) and known.is_control]:
        sentences.append(f"cells that bind a negative control have no label: {', '.join(controls)}")
    return sentences


def chains(table: pa.Table) -> pa.Table:
    """
    Return all chains of a cell, once for each dextramer that the cell binds, or once if it binds none.

    A cell that binds a negative control binds whatever it meets, so it has no label.
    """
    named = {name: known for name in table.column_names if (known := dextramer(name))}
    # Sorted, so that the order of the columns does not matter; a dextramer may have two columns.
    dextramers = sorted(set(named.values()), key=str)
    binds = np.zeros((len(table), len(dextramers)), bool)
    for name, known in named.items():
        yes = truths(column(table, name))
        binds[:, dextramers.index(known)] |= pc.fill_null(yes, False).to_numpy()
    control = np.array([known.is_control for known in dextramers], bool)
    labelled = binds & ~control & ~binds[:, control].any(axis=1, keepdims=True)

    # One entry per label of a cell; the column after the last dextramer stands for no label.
    row, label = np.nonzero(np.column_stack([labelled, ~labelled.any(axis=1)]))
    reference_ids = column(table, "reference_id")
    cells = pa.table(
        {
            "row": table["row"].combine_chunks().take(pa.array(row)),
            "key": pa.array(
                np.char.add(np.char.add(table["row"].to_numpy()[row].astype(str), "/"), label.astype(str))
            ),
            "cell_id": column(table, "barcode").combine_chunks().take(pa.array(row)),
            "junctions": table["cell_clono_cdr3_aa"].take(pa.array(row)),
            "reference_id": reference_ids.take(pa.array(row)),
            **{
                name: pa.array([*(getattr(known, name) for known in dextramers), None], pa.string()).take(
                    pa.array(label)
                )
                for name in _LABELS
            },
        }
    )
    fields, chain_cells = named_junctions(
        cells, "junctions", [name for name in cells.column_names if name != "junctions"]
    )
    labelled = pc.is_valid(chain_cells["epitope"])
    nothing = pa.scalar(None, pa.string())
    return chain_table(
        row=chain_cells["row"],
        cell_key=chain_cells["key"],
        cell_id=chain_cells["cell_id"],
        # The same junction may be there twice, from two nucleotide sequences.
        chain_key=pa.array(np.arange(len(chain_cells)).astype(str), pa.string()),
        label_method=pc.if_else(labelled, METHOD, nothing),
        reference_id=pc.if_else(labelled, chain_cells["reference_id"], nothing),
        **{name: chain_cells[name] for name in _LABELS},
        **fields,
    )
