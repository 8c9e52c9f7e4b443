"""Antigens of labels: the columns that describe one, MHC as one text, and links to studies."""

import re
from typing import NamedTuple
from urllib.parse import quote

# Columns of a label that describe the antigen of its epitope.
ANTIGEN_FIELDS = ("antigen_gene", "antigen_species", "mhc_a", "mhc_b")
# β2-microglobulin, the same in every MHC of class I, in the spellings of databases.
_B2M = {"b2m", "β2m", "beta-2-microglobulin"}

_PUBMED = re.compile(r"(?:pmid|pubmed)\s*:?\s*(\d{1,9})", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:\s*)?(10\.\d{4,9}/[^\s\"<>\\]+)", re.IGNORECASE)
_DOI_ADDRESS = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\d{4,9}/[^\s\"<>\\]+)", re.IGNORECASE)
_PUBMED_ADDRESS = re.compile(
    r"https?://(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/(\d{1,9})/?",
    re.IGNORECASE,
)
# A host and printable ASCII without characters that end an attribute or a tag.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][!#-;=?-\[\]_a-z~]*)?", re.IGNORECASE)
_LONGEST = 48  # characters of an address that are shown; a longer one is cut in its middle


class Study(NamedTuple):
    """Source of a label: the text to show, and an address, or None if the source has none."""

    text: str
    address: str | None


def study(reference_id: str) -> Study:
    """
    Return the text and the address of a study.

    Parameters
    ----------
    reference_id : str
        ``PMID:123``, ``pubmed:123``, a DOI (``10.…/…``), an address with http or https, or any other text,
        which gets no address. No other scheme, such as ``javascript:``, ever becomes an address.
    """
    text = reference_id.strip()
    if found := _PUBMED.fullmatch(text) or _PUBMED_ADDRESS.fullmatch(text):
        return Study(f"PMID:{found[1]}", f"https://pubmed.ncbi.nlm.nih.gov/{found[1]}/")
    if found := _DOI.fullmatch(text) or _DOI_ADDRESS.fullmatch(text):
        return Study(f"doi:{found[1]}", "https://doi.org/" + quote(found[1], safe="/:;()._-"))
    if _ADDRESS.fullmatch(text):
        bare = text.split("://", 1)[1].rstrip("/")
        half = _LONGEST // 2
        return Study(bare if len(bare) <= _LONGEST else f"{bare[:half]}…{bare[1 - half :]}", text)
    return Study(text, None)


def mhc_name(mhc_a: str | None, mhc_b: str | None) -> str | None:
    """
    Return both chains of an MHC as one text, or None if neither is known.

    β2-microglobulin is left out: ``HLA-A*02:01``, ``H-2Db``; ``HLA-DRA*01/HLA-DRB1*04:01``.
    """
    second = None if mhc_b and mhc_b.strip().lower() in _B2M else mhc_b
    return "/".join(dict.fromkeys(chain for chain in (mhc_a, second) if chain)) or None
