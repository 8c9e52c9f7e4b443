"""
Innate-like T cells recognised by their receptors: MAIT and iNKT cells.

Their receptors recognise metabolites on MR1 and lipids on CD1d, not peptides on MHC. An epitope that a
multimer or a similar receptor suggests for them is wrong, and they are frequent: MAIT cells are 1 to 10 % of
the T cells in human blood.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

MAIT = "MAIT"
INKT = "iNKT"


@dataclass(frozen=True)
class Rule:
    """
    Rule by which a receptor is innate-like.

    Attributes
    ----------
    name : str
        Value of the column ``innate_like``.
    species : str
    tra_v_call, tra_j_call : str
        Regular expressions for genes, without alleles.
    tra_junction_aa : str
        Regular expression for the junction of the α chain, with its conserved ends.
    trb_v_call : str
        Regular expression for the V gene of the β chain, which holds only where that gene is known.
    source : str
    """

    name: str
    species: str
    tra_v_call: str
    tra_j_call: str
    tra_junction_aa: str
    trb_v_call: str
    source: str


# MAIT: 12 residues, of which the eighth, the tyrosine that the J genes encode (Tyr95α), touches the ligand.
# iNKT: no residue is added but the fourth.
RULES = (
    Rule(
        MAIT,
        "homosapiens",
        "TRAV1-2",
        "TRAJ(33|20|12)",
        "C.{6}Y[QK]L[IS][FW]",
        "TRBV(6-[1-9]|20-1|4-[23]|15)",
        "Tilloy et al. 1999, 10.1084/jem.189.12.1907; Reantragoon et al. 2013, 10.1084/jem.20130958;"
        " Lepore et al. 2014, 10.1038/ncomms4866",
    ),
    Rule(
        INKT,
        "homosapiens",
        "TRAV10",
        "TRAJ18",
        "CVV.DRGSTLGRLYF",
        "TRBV25-1",
        "Porcelli et al. 1993, 10.1084/jem.178.1.1; Dellabona et al. 1994, 10.1084/jem.180.3.1171",
    ),
    Rule(
        MAIT,
        "musmusculus",
        "TRAV1",
        "TRAJ33",
        "C.{6}YQLIW",
        "TRBV(13-[123]|19)",
        "Tilloy et al. 1999, 10.1084/jem.189.12.1907; Rahimpour et al. 2015, 10.1084/jem.20142110",
    ),
    Rule(
        INKT,
        "musmusculus",
        "TRAV11D?",
        "TRAJ18",
        "CVV.DRGSALGRLHF",
        "TRBV(13-[123]|29|1)",
        "Lantz & Bendelac 1994, 10.1084/jem.180.3.1097; Godfrey & Kronenberg 2004, 10.1172/JCI23594",
    ),
)
MAJORITY = 0.5  # share of a cluster's members, from which the cluster is called innate-like
NAMES = tuple(dict.fromkeys(rule.name for rule in RULES))


def innate_like(receptors: pa.Table | dict) -> pa.Array:
    """
    Return the kind of innate-like T cell that each receptor is typical of.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        ``species`` and `airrvec.core.schema.RECEPTOR_FIELDS`.

    Returns
    -------
    pyarrow.Array of string, length n
        One of `NAMES`, by `RULES`; null for all others, and for every receptor without an α chain.

    Examples
    --------
    >>> alpha = {"tra_v_call": ["TRAV1-2"], "tra_j_call": ["TRAJ33"], "tra_junction_aa": ["CAVMDSNYQLIW"]}
    >>> beta = {"trb_v_call": ["TRBV6-4"], "trb_j_call": ["TRBJ2-2"], "trb_junction_aa": ["CASSDF"]}
    >>> innate_like(pa.table({"species": ["homosapiens"], **alpha, **beta})).to_pylist()
    ['MAIT']
    """
    alphas = receptors["tra_junction_aa"]
    if alphas.null_count == len(alphas):
        return pa.nulls(len(alphas), pa.string())
    masks = [_follows(receptors, rule) for rule in RULES]
    names = [pa.scalar(rule.name) for rule in RULES]
    matched = pc.case_when(pc.make_struct(*masks), *names)
    return matched.combine_chunks() if isinstance(matched, pa.ChunkedArray) else matched


def _follows(receptors: pa.Table | dict, rule: Rule) -> pa.Array | pa.ChunkedArray:
    """Return whether each receptor follows a rule; never null."""
    mask = pc.equal(receptors["species"], rule.species)
    for column in ("tra_v_call", "tra_j_call", "tra_junction_aa", "trb_v_call"):
        end = r"(\*.*)?" if column.endswith("call") else ""
        matches = pc.match_substring_regex(receptors[column], f"^({getattr(rule, column)}){end}$")
        mask = pc.and_(mask, pc.fill_null(matches, column == "trb_v_call"))
    return pc.fill_null(mask, False)
