"""The documented rules of genes and junctions once more, as plainly as can be."""

import re
from contextlib import suppress
from functools import cache
from itertools import takewhile

import tidytcells


@cache
def known(name: str, species: str, functional: bool) -> str | None:
    return tidytcells.tr.standardize(name, species=species, enforce_functional=functional, log_failures=False)


def alternatives(call: str, species: str) -> list[str]:
    """The genes that a call names."""
    names = []
    for name in re.split(r"[,;|+]|\bor\b", call):
        # The organism, the functionality, a score, no allele.
        decoration = r"^(Homsap|Musmus|Human|Mouse)\s|\s(F|\(F\)|\[F\]|ORF|P)$|\(\d+(\.\d+)?\)$|\*00"
        name = re.sub(r":(\d\d)$", r"*\1", re.sub(decoration, "", name.strip()).strip())
        genes, star, allele = name.partition("*")
        parts = [genes] if known(genes, species, False) else genes.split("/")
        letters = "".join(takewhile(str.isalpha, genes))
        names += [(letters if part[:1].isdigit() else "") + part + star + allele for part in parts]
    return names


@cache
def open_frames(species: str) -> set[str]:
    """Alleles that are open reading frames, and genes with such an allele."""
    alleles = tidytcells.tr.query(species, precision="allele", functionality="ORF")
    return {*alleles, *(allele.split("*")[0] for allele in alleles)}


@cache
def gene(call: str | None, segment: str, species: str) -> tuple[str | None, bool, str | None]:
    """
    The first functional gene of a call, else the first open reading frame, and whether it is one.

    Or what is wrong with the first of its genes.
    """
    if call is None:
        return None, False, None
    problems, frames = [], []
    for name in alternatives(call, species):
        # An allele that IMGT does not list stands for its gene.
        spelled = name if known(name, species, False) else name.split("*")[0]
        symbol = known(spelled, species, False)
        if not symbol:
            problems.append(f"not a {segment} gene listed by IMGT")
        elif symbol[3] != segment and f"/D{segment}" not in symbol:
            problems.append(f"not a {segment} gene")
        elif known(spelled, species, True):
            return known(spelled, species, True), False, None
        elif symbol in open_frames(species):
            frames.append(symbol)
        else:
            problems.append("a pseudogene according to IMGT")
    if frames:
        return frames[0], True, None
    return None, False, f"{segment.lower()}_call is {problems[0]}"


@cache
def germline(call: str | None, prefix: str, species: str) -> list[tuple]:
    """
    V: framework 3 up to its C, and what follows; J: before, at and behind its conserved residue.

    Of all alleles of a gene, functional or not, or of the functional ones of a prefix.
    """
    gene, found = call and call.split("*")[0], []
    functionality = "any" if gene else "F"
    for allele in sorted(tidytcells.tr.query(species, precision="allele", functionality=functionality)):
        if not allele.startswith(prefix) or gene not in (None, allele.split("*")[0]):
            continue
        with suppress(ValueError):  # a pseudogene without amino acids
            regions = tidytcells.tr.get_aa_sequence(allele, species=species)
            if prefix[3] == "J":
                found += re.findall("^(.*)(.)([GA].G.*)$", regions.get("J-REGION", ""))
            elif regions.get("FR3-IMGT", "").endswith("C"):
                framework = regions["FR3-IMGT"]
                found.append((framework[:-1], regions["V-REGION"].split(framework)[-1]))
    return found


def same_start(one: str, other: str) -> int:
    """How many of the first letters are the same."""
    return same_end(one[::-1], other[::-1])


def same_end(one: str, other: str) -> int:
    """How many of the last letters are the same."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def junction(chain: dict, species: str) -> tuple[str | None, str | None]:
    """The junction of a chain whose genes are standardised, or what is wrong with it."""
    sequence, v, j, locus = (chain[name] for name in ("junction", "v", "j", "locus"))
    if sequence is None:
        return None, "junction_aa is missing"
    sequence = sequence.upper()
    for wrong, problem in (
        ("*" in sequence, "holds a stop codon (*)"),
        (set(sequence) & set("_~#"), "is out of frame (_)"),
        (len(sequence) > 60, "has more than 60 residues"),
        (set(sequence) - set("ACDEFGHIKLMNPQRSTVWY"), "holds a letter that is no amino acid"),
    ):
        if wrong:
            return None, f"junction_aa {problem}"
    started, replaced, missing = sequence if sequence[0] == "C" else None, 0, 0
    for named in (v, None) if v else (None,):
        for framework, cdr3 in germline(named, f"{locus}V", species):
            for n in range(1 if named else 2, 4):
                if not started and sequence.startswith(framework[-n:] + "C"):
                    started = sequence[n:]
            if named == v:
                replaced = max(replaced, same_start(sequence[1:], cdr3))
                missing = max(missing, same_start(sequence, cdr3))
    if not started and replaced > missing and replaced >= (2 if v else 3):
        return None, "junction_aa has another residue in place of its C"

    from_start = started or "C" + sequence
    for named in (j, None) if j else (None,):
        enough, enough_before = (2, 1) if named else (3, 3)
        kept = []
        if started and sequence[-1] in "FW":
            kept, enough_before = [(1, from_start)], 3
        prolonged = []
        for before, residue, after in germline(named, f"{locus}J", species):
            for beyond in range(len(after) + 1):
                if from_start.endswith(residue + after[:beyond]):
                    cut = from_start[: len(from_start) - beyond]
                    agree = same_end(cut, before + residue)
                    kept += [(agree, cut)] if agree >= enough else []
            agree = same_end(from_start, before)
            if agree >= enough_before and agree >= same_end(from_start[:-1], before):
                prolonged.append((agree, from_start + residue))
        # The best of each, of equals the first; without a start the end is taken to lack as well.
        kept, prolonged = (
            max(found, key=lambda pair: pair[0], default=(0, None)) for found in (kept, prolonged)
        )
        best = prolonged if prolonged[0] + (started is None) > kept[0] else kept
        if best[1]:
            return long_enough(best[1], best is prolonged or not started)
    if started:
        return None, "junction_aa starts with C but does not end as a junction does"
    residues = {residue for _, residue, _ in germline(j, f"{locus}J", species)}
    return long_enough(from_start + (residues.pop() if j and len(residues) == 1 else "F"), True)


def long_enough(whole: str, completed: bool) -> tuple[str | None, str | None]:
    """A junction, unless an end was added to too few residues."""
    if completed and len(whole) < 7:
        return None, "junction_aa lacks a conserved end and is too short to be a CDR3"
    return whole, None
