"""Receptors, antigens and studies in the cells of the report's tables."""

from collections.abc import Mapping
from html import escape

from airrvec.core import schema
from airrvec.core.antigens import mhc_name, study
from airrvec.core.chains import BETWEEN_CHAINS, GREEK, chain_names
from airrvec.report.page import meaning

N_STUDIES = 3  # of a reference that are listed; more are counted


def text_header(title: str, description: str = "") -> dict:
    """Return the header of a column of text, without MultiQC's colours."""
    return {"title": title, "scale": False, **({"description": description} if description else {})}


def chain_headers(title: str, lineage: schema.Lineage = schema.ALPHA_BETA) -> dict[str, dict]:
    """Return the headers of `chain_cells`; ``title`` has ``{}`` in place of the name of the chain."""
    return {
        locus.lower(): text_header(title.format(GREEK[locus]), "V gene, CDR3 with its C and F or W, J gene")
        for locus in lineage.loci
    }


CHAIN_HEADERS = chain_headers("{} chain")
ANTIGEN_HEADERS = {
    "antigen_gene": text_header("Antigen", **meaning("annotation", "antigen_gene")),
    "antigen_species": text_header("Organism", **meaning("annotation", "antigen_species")),
    "mhc": text_header("MHC", "MHC molecule that presents the epitope"),
}
ID_HEADER = text_header("Receptor id", **meaning("receptors", "receptor_id"))


def text_cell(value) -> str:
    """
    Return user text for a table cell: escaped for HTML, and for MultiQC.

    MultiQC replaces commas by blanks and turns a text such as ``12e45`` into a number; quotes around it
    prevent the latter, and it removes them.
    """
    text = _escaped(_text(value) or "")
    return f'"{text}"' if _is_number(text) else text


def chain_cells(
    row: Mapping, absent: str = "none", lineage: schema.Lineage = schema.ALPHA_BETA
) -> dict[str, str]:
    """
    Return the cells ``tra`` and ``trb`` of a receptor, e.g. ``TRAV1-2 CAVMDSNYQLIW TRAJ33 (MAIT)``.

    Parameters
    ----------
    row : Mapping
        Fields of the lineage's receptors; ``innate_like`` where the table has it.
    absent : str
        Text for a missing chain, with ``{}`` in place of its name if it is told.
    lineage : Lineage
        Of γδ receptors, the cells are ``trg`` and ``trd``.
    """
    columns = {name: [_text(row[name])] for name in lineage.receptor_fields}
    names = {
        locus.lower(): chain_names(columns, locus)[0].as_py() or absent.format(GREEK[locus])
        for locus in lineage.loci
    }
    kind = _text(row.get("innate_like"))
    if kind:
        names["tra"] += f" ({kind})"
    return {locus: text_cell(name) for locus, name in names.items()}


def named_chain_cells(name: str | None, prefix: str = "") -> dict[str, str]:
    """Return the cells ``tra`` and ``trb`` of a name made by `airrvec.core.chains.receptor_names`."""
    alpha, _, beta = (_text(name) or "").partition(BETWEEN_CHAINS)
    return {f"{prefix}tra": text_cell(alpha), f"{prefix}trb": text_cell(beta)}


def antigen_cells(row: Mapping) -> dict[str, str]:
    """Return the cells of `ANTIGEN_HEADERS`; ``row`` has `airrvec.core.antigens.ANTIGEN_FIELDS`."""
    cells = {name: text_cell(row[name]) for name in ("antigen_gene", "antigen_species")}
    return {**cells, "mhc": text_cell(mhc_name(_text(row["mhc_a"]), _text(row["mhc_b"])))}


def study_cell(studies: str | None) -> str:
    """
    Return the studies of a reference, a link where `airrvec.core.antigens.study` gives an address.

    Parameters
    ----------
    studies : str or None
        Studies joined by ``;``.
    """
    names = [name for name in (_text(studies) or "").split(";") if name.strip()]
    links = [_link(name) for name in names[:N_STUDIES]]
    more = [f"{len(names) - N_STUDIES} more"] if len(names) > N_STUDIES else []
    cell = "; ".join([*links, *more])
    return f'"{cell}"' if _is_number(cell) else cell


def nearest_headers() -> dict[str, dict]:
    """Return the headers of the nearest reference of a call; its cells are `nearest_cells`."""
    return {
        **{
            f"nearest_{locus.lower()}": text_header(
                f"Nearest reference: {GREEK[locus]}",
                "Labelled receptor with the most similar vector: V gene, CDR3, J gene",
            )
            for locus in schema.LOCI
        },
        "nearest_epitope": text_header("Its epitope", **meaning("annotation", "nearest_1_epitope")),
        "nearest_antigen": text_header(
            "Its antigen", "Protein or gene and organism of the epitopes of the nearest reference"
        ),
        "nearest_mhc": text_header("Its MHC", **meaning("annotation", "nearest_1_mhc")),
        "distance": {
            "title": "Distance",
            **meaning("annotation", "nearest_1_distance"),
            "format": "{:,.3f}",
            "scale": False,
        },
        "study": text_header("Its study", **meaning("annotation", "nearest_1_study")),
    }


def nearest_cells(row: Mapping) -> dict:
    """Return the cells of `nearest_headers`; ``row`` has the columns ``nearest_1_…`` of a call."""
    antigen = [_text(row[f"nearest_1_{name}"]) for name in ("antigen_gene", "antigen_species")]
    return {
        **named_chain_cells(row["nearest_1_receptor"], "nearest_"),
        "nearest_epitope": text_cell(row["nearest_1_epitope"]),
        "nearest_antigen": text_cell(", ".join(word for word in antigen if word)),
        "nearest_mhc": text_cell(row["nearest_1_mhc"]),
        "distance": row["nearest_1_distance"],
        "study": study_cell(row["nearest_1_study"]),
    }


def _link(name: str) -> str:
    text, address = study(name)
    if address is None:
        return _escaped(text)
    # Single quotes, because MultiQC also puts the cell between the double quotes of an attribute.
    return f"<a href='{_escaped(address)}' target='_blank' rel='noopener noreferrer'>{_escaped(text)}</a>"


def _text(value) -> str | None:
    """Return a value as text; None for None and for NaN, which pandas writes for a missing text."""
    return None if value is None or value != value else str(value)


def _escaped(text: str) -> str:
    return escape(text).replace(",", "&#44;")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
