"""Sentences of each part of the report: what it shows and its limits; the glossary."""

import re
from typing import NamedTuple

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
    "odds ratio": "Odds of a cluster in donors with an allele, over those in donors without it; 1: equal.",
    "Hill number": "Effective number of receptors. Order 0 counts all alike, order 1 weighs them by their"
    " cells, order 2 counts mostly large clones.",
    "effective number": "Number of equally large clones that would give the same diversity.",
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
_LOWER_TERMS = {term.lower(): term for term in TERMS}
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
            parts.append(piece if depth else _WORD.sub(lambda match: _first(match[1], seen), piece))
    return "".join(parts)


def _first(words: str, seen: set[str]) -> str:
    term = _LOWER_TERMS[words.lower()]
    if term in seen:
        return words
    seen.add(term)
    return f'<abbr tabindex="0" title="{TERMS[term]}">{words}</abbr>'


# --- What to see in each section of the report, and its limits: one sentence each


class Reading(NamedTuple):
    """Two sentences; the second begins with the limit in a few words, up to its colon."""

    see: str
    doubt: str


READINGS = {
    "airrvec_samples": Reading(
        "the share of rows kept and of cells with both chains should be alike in all samples.",
        "Not the quality of sequencing: a file that was filtered before has few rejects whatever its"
        " quality.",
    ),
    "airrvec_clones": Reading(
        "which expanded clones have evidence for an epitope, and what speaks against it.",
        "Not a diagnosis: a clone that recognises a virus may be years old, and its epitope is a prediction"
        " until it is tested.",
    ),
    "airrvec_chain_pairing": Reading(
        "in good single-cell data, most cells have one α and one β chain.",
        "Perhaps doublets: a sample with many more cells with extra chains than the others may have two"
        " cells in a droplet.",
    ),
    "airrvec_rejects": Reading(
        "grey reasons are usual in 10x tables, which list every contig; a coloured reason deserves a look.",
        "Not a share of cells: one cell may have several rejected chains.",
    ),
    "airrvec_other_loci": Reading(
        "how many B-cell chains each sample has.",
        "Not a count of B cells: a protocol for T cells does not amplify all of them.",
    ),
    "airrvec_gamma_delta_samples": Reading(
        "the shares of Vδ1 and Vδ2: most γδ cells of adult blood are Vδ2, most of tissue are not.",
        "Not a frequency of γδ T cells, where primers for α and β chains made the library: they amplify"
        " few others.",
    ),
    "airrvec_gamma_delta_clones": Reading(
        "expanded clones: Vδ1 clones expand in adults, for example after CMV.",
        "Not always a clone: many people have the same Vγ9 chain without a δ chain, by recombination alone.",
    ),
    "airrvec_gamma_delta_clusters": Reading(
        "receptors of several donors that differ in few residues.",
        "Not shared specificity: no background set tells how many receptors are as similar by chance.",
    ),
    "airrvec_gamma_delta_tests": Reading(
        "rows with an FDR of at most 0.05, and the size of their difference.",
        "No finding is not equality: many samples have too few γδ cells to be compared, and are left out.",
    ),
    "airrvec_annotation_holes": Reading(
        "of which epitopes this reference finds receptors, and of which it finds none.",
        "An estimate: epitopes that few receptors test are judged by all epitopes with as many references.",
    ),
    "airrvec_annotation_pathogens": Reading(
        "which pathogens and epitopes are called, and in how many samples.",
        "Doubtful calls: an epitope called in few receptors, or one whose MHC the donor lacks (column hla"
        " of the samplesheet).",
    ),
    "airrvec_annotation_epitopes": Reading(
        "which epitopes dominate which sample.",
        "Not a frequency of specific cells: most epitopes have no reference, and calls of well studied"
        " epitopes are easier to make.",
    ),
    "airrvec_annotation_counts": Reading(
        "compare the calls with the number of calls expected to be false.",
        "Perhaps more are false: the estimate holds if receptors without a known epitope resemble the"
        " background set.",
    ),
    "airrvec_annotation_hla": Reading(
        "which calls the donor's HLA prevents; many of them point to a wrong typing or a swapped sample.",
        "Only as good as the typing: an allele that is missing from an incomplete typing excludes its"
        " epitopes.",
    ),
    "airrvec_annotation_top": Reading(
        "calls at the top are the most certain; validate from the top.",
        "Check the MHC: it is compared with the donor only where the samplesheet has the donor's HLA.",
    ),
    "airrvec_annotation_reliability": Reading(
        "on the grey diagonal, predicted and observed shares agree; below it, probabilities are too high.",
        "Single points mislead: those far from the line usually stand for few receptors.",
    ),
    "airrvec_annotation_precision_recall": Reading(
        "the higher and the further to the right a curve stays, the better.",
        "Lower precision elsewhere: a sample may have a smaller share of labelled receptors than the"
        " curve assumes.",
    ),
    "airrvec_clusters_overview": Reading(
        "how many more neighbours a receptor has than expected by chance.",
        "Not a common antigen by itself: selection in the thymus makes clusters too, and so do"
        " innate-like T cells.",
    ),
    "airrvec_clusters_largest": Reading(
        "clusters with one epitope among many labelled members suggest the specificity of the other members.",
        "Count the labels: a few labelled members say little about a cluster.",
    ),
    "airrvec_clusters_hla": Reading(
        "clusters with an FDR of at most 0.05: their receptors may recognise peptides on the allele, or"
        " on one that is inherited with it.",
        "Not proof of restriction: neighbouring alleles are inherited together, and HLA goes with ancestry.",
    ),
    "airrvec_clusters_logos": Reading(
        "tall letters are conserved, and show what the members of a cluster share.",
        "Small clusters mislead: among few receptors every letter looks conserved.",
    ),
    "airrvec_clusters_sizes": Reading(
        "most clusters are small.",
        "Not comparable between runs: clusters grow with the number of receptors.",
    ),
    "airrvec_map": Reading(
        "dense groups of one colour are similar receptors of one kind.",
        "Not a test: distances between groups and sizes of groups have no meaning.",
    ),
    "airrvec_conditions_designs": Reading(
        "which values are compared, within what, and whether anything can be significant.",
        "Look at the confounders: where one is named, what differs may be the batch or the depth.",
    ),
    "airrvec_conditions_dots": Reading(
        "whether the dots of two values lie apart, and how large the difference is beside their spread.",
        "Chosen by their FDR: the figures show the clearest differences of many, of which some are chance.",
    ),
    "airrvec_conditions_tests": Reading(
        "rows with an FDR of at most 0.05, and the size of their difference.",
        "No finding is not equality: with few donors, no difference can be significant.",
    ),
    "airrvec_conditions_changes": Reading(
        "clones at the top, and how many of a step are expanded, contracted, new or lost.",
        "Not a response, without replicates: two bleeds of a donor differ by more than sampling.",
    ),
    "airrvec_conditions_shared": Reading(
        "points far from the diagonal, and coloured ones; a clone at the edge was not seen in one sample.",
        "Not lost or new by itself: a small sample misses most small clones.",
    ),
    "airrvec_conditions_over_time": Reading(
        "bands that grow or shrink from one bar to the next.",
        "Not the whole repertoire: the bars are a few clones, chosen because they are large somewhere.",
    ),
    "airrvec_conditions_told": Reading(
        "whether the vectors tell the values apart better than genes, depth and clonality do.",
        "Read the p first: with few donors, a high share is often chance.",
    ),
    "airrvec_comparison_overlap": Reading(
        "blocks of samples of one donor; a dark cell between two donors may be a mix-up or a contamination.",
        "Mostly large clones: one expanded clone that two samples share makes their cell dark.",
    ),
    "airrvec_comparison_pca": Reading(
        "samples of one condition that lie together, apart from the others.",
        "Not a test: with few samples, a pattern always appears.",
    ),
    "airrvec_comparison_pairs": Reading(
        "pairs with many shared or similar receptors, and pairs with a low FDR.",
        "Not the effect of a treatment: two people, or two tubes, differ too.",
    ),
    "airrvec_training": Reading(
        "the validation loss should fall and then stay level.",
        "A sign of overfitting: the validation loss rises while the training loss falls.",
    ),
    "airrvec_auroc": Reading(
        "lines above 0.5 recognise the epitope better than chance; more references help.",
        "Only for the epitopes measured: performance differs between epitopes.",
    ),
    "airrvec_roc": Reading(
        "the left end counts: how many receptors are found at few false positives.",
        "Not the false positives of a repertoire: there nearly all receptors are negatives.",
    ),
    "airrvec_comparisons": Reading(
        "the difference beside its standard error.",
        "Not with fewer than six epitopes: p cannot be small.",
    ),
    "airrvec_auroc_settings": Reading(
        "how much one chain alone, or receptors unlike the references, lower the AUROC.",
        "Not the figure above: compare only where both means are over the same epitopes.",
    ),
    "airrvec_auroc_by_epitope": Reading(
        "which epitopes are easy, and whether one encoder is better for all of them.",
        "Not comparable at different k: more references help.",
    ),
    "airrvec_metrics": Reading(
        "whether the encoders have the same order by all metrics.",
        "Not comparable between tables: the average precision depends on the share of the epitope's"
        " receptors.",
    ),
    "airrvec_finetuning_specificity": Reading(
        "whether contrast, the best rule, rises on held-out studies, beside V and J gene names, TCRdist, and"
        " the sum with TCRdist.",
        "No gain without its interval: one that holds 0 shows none, however much the average distance rises.",
    ),
    "airrvec_finetuning_unseen": Reading(
        "what the model gives for epitopes without labels, by contrast first.",
        "Doubtful rows: training receptors among the negatives can raise the AUROC.",
    ),
    "airrvec_analysis_distances": Reading(
        "in a narrow band that rises evenly, the encoder orders pairs as TCRdist does.",
        "Not a quality: an encoder that differs from TCRdist may be right.",
    ),
    "airrvec_analysis_generation": Reading(
        "a negative correlation means that improbable pairs differ more in sequence at the same distance.",
        "Count the pairs: bins of few pairs say little.",
    ),
    "airrvec_analysis_power_mean": Reading(
        "if an exponent below 1 fits best, one similar chain is enough for a small distance.",
        "No answer, if the curve is flat: then all exponents fit as well.",
    ),
    "airrvec_analysis_alignment": Reading(
        "lower is better for both axes, but the two oppose each other.",
        "Not by one axis alone: a model that maps all receptors to one point has perfect alignment.",
    ),
    "airrvec_analysis_complexity": Reading(
        "whether larger models recognise epitopes better.",
        "Not the size alone: models differ in their training too.",
    ),
    "airrvec_analysis_entropy": Reading(
        "whether epitopes with diverse receptors are harder.",
        "Not with fewer than ten epitopes: any line fits them.",
    ),
    "airrvec_analysis_coincidence": Reading(
        "pairs of one epitope are more often similar than background pairs.",
        "Not the specificity of one pair: most pairs of an epitope are no more similar than by chance.",
    ),
    "airrvec_analysis_fine_tuning": Reading(
        "whether pairs of one epitope move together, and other pairs apart.",
        "Not a measure for new receptors: one receptor of each pair was used in training.",
    ),
    "airrvec_analysis_edits": Reading(
        "which places of a junction the encoder weighs most.",
        "Not the biology of binding: it is a property of the encoder.",
    ),
}
