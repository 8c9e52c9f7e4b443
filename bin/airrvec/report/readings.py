"""What to see in each section of the report, and when not to believe it: one sentence each."""

from typing import NamedTuple


class Reading(NamedTuple):
    """Two sentences: the second continues "Do not believe it"."""

    see: str
    doubt: str


READINGS = {
    "airrvec_samples": Reading(
        "the share of rows kept and of cells with both chains should be alike in all samples.",
        "as a measure of sequencing quality: a file that was filtered before has few rejects whatever its"
        " quality.",
    ),
    "airrvec_chain_pairing": Reading(
        "in good single-cell data, most cells are single pairs.",
        "if a sample has many more cells with extra chains than the others: they may be doublets.",
    ),
    "airrvec_rejects": Reading(
        "grey reasons are usual in 10x tables, which list every contig; a coloured reason deserves a look.",
        "as a share of cells: one cell may have several rejected chains.",
    ),
    "airrvec_other_loci": Reading(
        "how many γ, δ or B-cell chains each sample has.",
        "as a count of γδ T cells or B cells: a protocol for αβ T cells does not amplify all of them.",
    ),
    "airrvec_annotation_pathogens": Reading(
        "which pathogens and epitopes are called, and in how many samples.",
        "for an epitope that is called in few receptors, or whose MHC the donor does not have.",
    ),
    "airrvec_annotation_epitopes": Reading(
        "which epitopes dominate which sample.",
        "as a frequency of specific cells: most epitopes have no reference, and calls of well studied"
        " epitopes are easier to make.",
    ),
    "airrvec_annotation_counts": Reading(
        "compare the calls with the number of calls expected to be false.",
        "if receptors without a known epitope do not resemble the background set: then more calls are false"
        " than stated.",
    ),
    "airrvec_annotation_top": Reading(
        "calls at the top are the most certain; validate from the top.",
        "if the MHC does not match the donor, which is not checked.",
    ),
    "airrvec_annotation_reliability": Reading(
        "on the grey diagonal, predicted and observed shares agree; below it, probabilities are too high.",
        "for single points far from the line: they usually stand for few receptors.",
    ),
    "airrvec_annotation_precision_recall": Reading(
        "the higher and the further to the right a curve stays, the better.",
        "for a sample with a smaller share of labelled receptors than the curve assumes: precision is lower.",
    ),
    "airrvec_clusters_overview": Reading(
        "how many more neighbours a receptor has than expected by chance.",
        "as evidence of a common antigen: selection in the thymus makes clusters too, and so do innate-like"
        " T cells.",
    ),
    "airrvec_clusters_largest": Reading(
        "clusters with one epitope among many labelled members suggest the specificity of the other members.",
        "if few members are labelled: the label then says little about the cluster.",
    ),
    "airrvec_clusters_logos": Reading(
        "tall letters are conserved, and show what the members of a cluster share.",
        "for clusters of few receptors: every letter looks conserved.",
    ),
    "airrvec_clusters_sizes": Reading(
        "most clusters are small.",
        "across runs with different numbers of receptors: clusters grow with the number of receptors.",
    ),
    "airrvec_map": Reading(
        "dense groups of one colour are similar receptors of one kind.",
        "as a test: distances between groups and sizes of groups have no meaning.",
    ),
    "airrvec_clusters_conditions": Reading(
        "clusters that all samples of one condition carry and none of the other.",
        "if the samples of a condition also share a donor or a batch: both explain the difference.",
    ),
    "airrvec_comparison_conditions": Reading(
        "an FDR of at most 0.05 in any row.",
        "as evidence of no difference: with few samples, no difference can be significant.",
    ),
    "airrvec_comparison_pca": Reading(
        "samples of one condition that lie together, apart from the others.",
        "as a test: with few samples, a pattern always appears.",
    ),
    "airrvec_comparison_pairs": Reading(
        "pairs with many shared or similar receptors, and pairs with a low FDR.",
        "as an effect of a treatment: two people, or two tubes, differ too.",
    ),
    "airrvec_training": Reading(
        "the validation loss should fall and then stay level.",
        "if it rises while the training loss falls: the model is overfitted.",
    ),
    "airrvec_auroc": Reading(
        "lines above 0.5 recognise the epitope better than chance; more references help.",
        "for an epitope that was not measured: performance differs between epitopes.",
    ),
    "airrvec_roc": Reading(
        "the left end counts: how many receptors are found at few false positives.",
        "as a rate of false positives in a repertoire, where nearly all receptors are negatives.",
    ),
    "airrvec_comparisons": Reading(
        "the difference beside its standard error.",
        "with fewer than six epitopes: p cannot be small.",
    ),
}
