"""
Generation probabilities of junctions, by OLGA (Sethna et al. 2019, Bioinformatics 35, 2974).

The probability of a chain is the sum over all recombinations with its V gene, its J gene and the amino acids
of its junction: OLGA's ``compute_aa_CDR3_pgen`` with both genes as masks.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from airrvec.core import schema
from airrvec.core.progress import step

import numpy as np
import olga
import pyarrow as pa
from olga import generation_probability, load_model
from olga.utils import gene_to_num_str

# Species with OLGA models of both chains → OLGA's name.
SPECIES = {"homosapiens": "human", "musmusculus": "mouse"}

_MODELS = Path(olga.__file__).with_name("default_models")
_FOLDERS = {"TRA": "T_alpha", "TRB": "T_beta"}
# OLGA's compiled kernels take 6 to 10 s to compile; in that time its plain code computes this many chains.
_WORTH_COMPILING = {"TRA": 10_000, "TRB": 600}


def load(locus: str, species: str = "homosapiens") -> tuple:
    """Return OLGA's genomic data and generative model of a locus."""
    with_d = locus == "TRB"
    folder = _MODELS / f"{SPECIES[species]}_{_FOLDERS[locus]}"
    genomic = load_model.GenomicDataVDJ() if with_d else load_model.GenomicDataVJ()
    genomic.load_igor_genomic_data(
        *(
            str(folder / name)
            for name in ("model_params.txt", "V_gene_CDR3_anchors.csv", "J_gene_CDR3_anchors.csv")
        )
    )
    model = load_model.GenerativeModelVDJ() if with_d else load_model.GenerativeModelVJ()
    model.load_and_process_igor_model(str(folder / "model_marginals.txt"))
    return genomic, model


@step("generation probabilities of receptors")
def receptor_probabilities(receptors: pa.Table, *, species: str) -> pa.Table:
    """
    Return generation probabilities of both chains: each distinct chain once, one process per locus.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors`` of one species with V gene, J gene and junction of both chains.
    species : str
        A key of `SPECIES`.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.GENERATION`, one row per receptor; null if OLGA lacks the V or the J gene, 0 if
        no recombination of these genes gives the junction.
    """
    loci = list(schema.LOCI)
    chains = [
        list(zip(*(receptors[schema.field(locus, name)].to_pylist() for name in _COLUMNS), strict=True))
        for locus in loci
    ]
    # Not forked: a forked process lacks the parent's threads of numba or torch.
    with ProcessPoolExecutor(len(loci), mp_context=get_context("spawn")) as pool:
        columns = pool.map(probabilities, chains, loci, [species] * len(loci))
    return pa.table([receptors["receptor_id"], *columns], schema=schema.GENERATION)


_COLUMNS = ("junction_aa", "v_call", "j_call")


def _rounded(probability: float) -> float:
    # The order in which matrix products are summed changes the last digits from process to process.
    return float(f"{probability:.13g}")


@step("generation probabilities")
def probabilities(chains: list[tuple[str, str, str]], locus: str, species: str) -> list[float | None]:
    """
    Return the generation probability of each chain (junction, V gene, J gene); alleles are ignored.

    None for a gene that OLGA lacks; OLGA's own command line would use all genes instead.
    """
    genomic, model = load(locus, species)
    class_name = "GenerationProbabilityVDJ" if locus == "TRB" else "GenerationProbabilityVJ"
    olga_model = getattr(generation_probability, class_name)(model, genomic)
    distinct = dict.fromkeys(
        (junction, v_call.split("*")[0], j_call.split("*")[0]) for junction, v_call, j_call in chains
    )
    if len(distinct) > _WORTH_COMPILING[locus]:
        from olga.performance.fast_pgen import FastPgen  # imports numba, which takes seconds

        olga_model = FastPgen(olga_model)
    for junction, v_gene, j_gene in distinct:
        known = (
            gene_to_num_str(v_gene, "V") in olga_model.V_mask_mapping
            and gene_to_num_str(j_gene, "J") in olga_model.J_mask_mapping
        )
        distinct[junction, v_gene, j_gene] = (
            _rounded(olga_model.compute_aa_CDR3_pgen(junction, v_gene, j_gene)) if known else None
        )
    return [distinct[junction, v.split("*")[0], j.split("*")[0]] for junction, v, j in chains]


def log10_probabilities(table: pa.Table) -> np.ndarray:
    """Return log10 of the α times the β probability, shape (n,); NaN where one is null or 0."""
    alpha, beta = (table[name].to_numpy() for name in schema.GENERATION.names[1:])
    with np.errstate(divide="ignore"):
        logs = np.log10(alpha) + np.log10(beta)
    return np.where(np.isfinite(logs), logs, np.nan)
