"""Terms of the report, explained where they first appear in a chapter: point at a term, or tap it."""

import re

TERMS = {
    "false discovery rate": "Expected share of false findings among all findings.",
    "FDR": "False discovery rate: expected share of false findings among all findings.",
    "epitope": "Peptide that a T-cell receptor recognises on an MHC molecule.",
    "MHC": "Molecule that presents a peptide to T cells; in humans: HLA.",
    "HLA": "Human MHC. Each person has up to two alleles of each locus, such as A*02:01 and A*24:02.",
    "clonotype": "Receptors with the same genes and CDR3 amino acids in both chains, whatever the alleles.",
    "CDR3": "The most variable loop of a chain, where V, D and J genes are joined; it touches the peptide.",
    "junction": "CDR3 with the conserved C before it and the conserved F or W after it.",
    "AUROC": "Area under the ROC curve: probability that a receptor of the epitope is ranked above another"
    " one. 0.5 is chance, 1 is perfect.",
    "ROC": "Curve of true positives against false positives, over all thresholds.",
    "Hill number": "Effective number of receptors. Order 0 counts all alike, order 1 weighs them by their"
    " cells, order 2 counts mostly large clones.",
    "effective number": "Number of equally frequent receptors that would give the same diversity.",
    "rarefied": "Computed for fewer cells than the sample has.",
    "innate-like": "Typical of MAIT or iNKT cells, which recognise MR1 and CD1d in place of peptides on MHC.",
    "coverage": "Estimated share of the cells of a repertoire whose receptor was seen in the sample.",
    "Brier score": "Mean squared error of probabilities. 0 is perfect.",
    "precision": "Share of calls that are correct.",
    "recall": "Share of labelled receptors that are called correctly.",
    "calibration": "Making a probability of 0.8 mean that 8 of 10 such calls are correct.",
    "cross-validation": "Measured on studies that were left out when the method was fitted.",
    "background": "Receptors without a known epitope, used to estimate what happens by chance.",
    "embedded": "Turned into a vector by the model; similar receptors have close vectors.",
    "alignment": "Mean distance between vectors of receptors of the same epitope (in training squared). Small"
    " is good.",
    "uniformity": "How evenly vectors are spread over the sphere. Lower is more even.",
    "Morisita–Horn": "Overlap of two samples, weighted by cells: 0 if nothing is shared, 1 if all is.",
    "MMD²": "Maximum mean discrepancy: distance between two distributions of vectors; near 0 if they agree.",
    "permutation test": "The samples are exchanged between groups many times; p is the share of exchanges"
    " with at least the observed difference.",
    "Fisher's exact test": "Test whether more samples of one condition carry a cluster than of another.",
    "Mann–Whitney": "Test whether values of one group tend to be larger than those of another, by ranks.",
    "logo": "Letters at each position of aligned sequences; tall letters are conserved.",
    "UMAP": "Projection onto a plane that keeps neighbours together.",
    "principal components": "Directions in which samples differ most.",
    "doublets": "Droplets with two cells, which seem to be one cell with too many chains.",
}
# A term as a whole word, also in the plural or with a capital letter; longer terms win.
_WORD = re.compile(
    r"(?<![\w-])(" + "|".join(sorted(map(re.escape, TERMS), key=len, reverse=True)) + r")(?=s?(?![\w-]))",
    re.IGNORECASE,
)
_BY_LOWER = {term.lower(): term for term in TERMS}
_NEVER_INSIDE = ("a", "abbr", "code", "script", "style", "button", "summary", "svg", "h3", "th")


def explained(html: str, seen: set[str]) -> str:
    """
    Return HTML in which the first mention of each term that is not in ``seen`` shows its explanation.

    Terms are added to ``seen``. Links, code and scripts stay as they are.
    """
    parts, depth = [], 0
    for piece in re.split(r"(<[^>]*>)", html):
        if piece.startswith("<"):
            if (name := re.match(r"</?([a-z0-9]+)", piece)) and name[1] in _NEVER_INSIDE:
                depth += -1 if piece.startswith("</") else 1
            parts.append(piece)
        else:
            parts.append(piece if depth else _WORD.sub(lambda found: _first(found[1], seen), piece))
    return "".join(parts)


def _first(words: str, seen: set[str]) -> str:
    term = _BY_LOWER[words.lower()]
    if term in seen:
        return words
    seen.add(term)
    return f'<abbr tabindex="0" title="{TERMS[term]}">{words}</abbr>'
