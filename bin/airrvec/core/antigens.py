"""Antigens of labels: the columns that describe one, MHC as one text, studies in one spelling, and links."""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from airrvec.core.tables import map_distinct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

# Columns of a label that describe the antigen of its epitope.
ANTIGEN_FIELDS = ("antigen_gene", "antigen_species", "mhc_a", "mhc_b")
# β2-microglobulin, the same in every MHC of class I, in the spellings of databases.
B2M = {"b2m", "β2m", "beta-2-microglobulin"}

_PUBMED = re.compile(r"(?:pmid|pubmed(?:\s*id)?)\s*[:=]?\s*(\d{1,9})", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:\s*)?(10\.\d{4,9}/[^\s\"<>\\]+)", re.IGNORECASE)
_DOI_ADDRESS = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\d{4,9}/[^\s\"<>\\]+)", re.IGNORECASE)
_PUBMED_ADDRESS = re.compile(
    r"https?://(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/(\d{1,9})/?(?:[?#].*)?",
    re.IGNORECASE,
)
# A host and printable ASCII without characters that end an attribute or a tag.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][!#-;=?-\[\]_a-z~]*)?", re.IGNORECASE)
# Texts that stand for no study.
_NO_STUDY = {"", "none", "na", "n/a", "nan", "null", "-"}
_LONGEST = 48  # characters of an address that are shown; a longer one is cut in its middle


def listed_epitopes(epitopes: str | Sequence[str] | None) -> tuple[str, ...]:
    """
    Return the distinct epitopes of a setting, without blanks around them: words with commas, or a list.

    Examples
    --------
    >>> listed_epitopes("GILGFVFTL, NLVPMVATV,GILGFVFTL")
    ('GILGFVFTL', 'NLVPMVATV')
    """
    words = epitopes.split(",") if isinstance(epitopes, str) else epitopes or ()
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


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

    Examples
    --------
    >>> study("PMID:28636592")
    Study(text='PMID:28636592', address='https://pubmed.ncbi.nlm.nih.gov/28636592/')
    """
    text = reference_id.strip()
    if match := _PUBMED.fullmatch(text) or _PUBMED_ADDRESS.fullmatch(text):
        return Study(f"PMID:{match[1]}", f"https://pubmed.ncbi.nlm.nih.gov/{match[1]}/")
    if match := _DOI.fullmatch(text) or _DOI_ADDRESS.fullmatch(text):
        return Study(f"doi:{match[1]}", "https://doi.org/" + quote(match[1], safe="/:;()._-"))
    if _ADDRESS.fullmatch(text):
        bare = text.split("://", 1)[1].rstrip("/")
        half = _LONGEST // 2
        return Study(bare if len(bare) <= _LONGEST else f"{bare[:half]}…{bare[1 - half :]}", text)
    return Study(text, None)


def study_id(reference_id: str | None) -> str | None:
    """
    Return the one spelling of a study, or None if the text names none.

    Parameters
    ----------
    reference_id : str or None
        A PubMed id in any form (``PMID: 1``, ``pubmed:1``, its address) becomes ``PMID:1``. A DOI in any form
        (``doi:10.…``, ``10.…``, its address) becomes ``https://doi.org/10.…`` in lower case, as DOIs ignore
        case. Empty text and ``none`` become None. Any other text keeps its spelling; blanks around it are
        cut.

    Examples
    --------
    >>> study_id("https://www.ncbi.nlm.nih.gov/pubmed/28636592"), study_id("doi:10.1038/NATURE22976")
    ('PMID:28636592', 'https://doi.org/10.1038/nature22976')
    """
    text = (reference_id or "").strip()
    if text.lower() in _NO_STUDY:
        return None
    if match := _PUBMED.fullmatch(text) or _PUBMED_ADDRESS.fullmatch(text):
        return f"PMID:{int(match[1])}"
    if match := _DOI.fullmatch(text) or _DOI_ADDRESS.fullmatch(text):
        return f"https://doi.org/{match[1].lower()}"
    return text


def study_ids(reference_ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the `study_id` of each text of a column; each distinct text is read once."""
    return map_distinct(reference_ids.cast(pa.string()), study_id)


def from_study(reference_ids: pa.Array | pa.ChunkedArray, text: str) -> pa.Array | pa.ChunkedArray:
    """Return whether each ``reference_id`` contains a text, as given or as `study_id`; case is ignored."""
    texts = pc.fill_null(reference_ids, "")
    is_match = pc.match_substring(texts, text, ignore_case=True)
    spelling = study_id(text)
    return pc.or_(is_match, pc.match_substring(texts, spelling, ignore_case=True)) if spelling else is_match


def mhc_name(mhc_a: str | None, mhc_b: str | None) -> str | None:
    """
    Return both chains of an MHC as one text, or None if neither is known.

    β2-microglobulin is left out: ``HLA-A*02:01``, ``H-2Db``; ``HLA-DRA*01/HLA-DRB1*04:01``.

    Examples
    --------
    >>> mhc_name("HLA-A*02:01", "B2M"), mhc_name("HLA-DRA*01:01", "HLA-DRB1*04:01")
    ('HLA-A*02:01', 'HLA-DRA*01:01/HLA-DRB1*04:01')
    """
    second = None if mhc_b and mhc_b.strip().lower() in B2M else mhc_b
    return "/".join(dict.fromkeys(chain for chain in (mhc_a, second) if chain)) or None


def vdjdb_score(confidence: pd.Series) -> np.ndarray:
    """Return VDJdb's score of each label, 0 to 3, as float32; NaN where ``confidence`` is anything else."""
    score = pd.to_numeric(confidence, errors="coerce").to_numpy(np.float32, na_value=np.nan)
    return np.where(np.isin(score, (0, 1, 2, 3)), score, np.float32(np.nan))
