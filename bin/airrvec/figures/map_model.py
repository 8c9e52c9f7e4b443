"""The model of the run for the page of the map, which embeds the receptors that a reader pastes."""

import base64
import re

from airrvec.core import imgt, schema
from airrvec.input.calls import read_call
from airrvec.input.germline import j_anchors, v_loops
from airrvec.input.junctions import MAX_LENGTH
from airrvec.model.cpu import inference
from airrvec.model.variants import VARIANTS
from airrvec.model.weights import LoadedModel

import numpy as np
import pandas as pd

MAX_BYTES = 8_000_000  # of weights in a page; the largest published variant has 3.2 MB
# Receptors that the page embeds for comparison, times weights: 50,000 receptors and the default model take a
# browser less than a minute.
MAX_WORK = 50_000 * 160_000

_LAYER = ("qkv", "out", "expand", "contract", "norm1", "norm2")


def embedder(model: LoadedModel, receptors: pd.DataFrame, clusters: dict | None = None) -> dict:
    """
    Return what the page needs to embed receptors as `airrvec.model.cpu.inference` does.

    Parameters
    ----------
    model : LoadedModel
        The model that embedded the receptors of the run.
    receptors : DataFrame
        ``receptors`` that are points of the map.
    clusters : dict, optional
        QC of ``cluster_receptors.py``.

    Returns
    -------
    dict
        ``shape``: the configuration, with the numbers of ``words`` (pairs of residue and loop) and ``places``
        (positions) of the embedding; ``weights``: float32, little-endian, base64, in the order of
        ``Network`` in ``embedding.js``; ``species``: V genes by species; ``compared``: number of points
        with which pasted receptors are compared; ``radii``: species → radius of the clusters of pairs, and
        the neighbours of a pair within it by chance. With more than `MAX_BYTES` of weights only ``absent``:
        the reason.
    """
    config, state = model.config, model.state
    left_aligned = config.embedding == "left_aligned"
    embedding = (inference.LeftAlignedEmbedding if left_aligned else inference.RelativeEmbedding)(
        config, state
    )
    arrays = [embedding.of_word, embedding.of_position]
    for layer in range(config.n_layers):
        arrays += [state[f"layers.{layer}.{name}.{part}"] for name in _LAYER for part in ("weight", "bias")]
    weights = np.concatenate([array.ravel() for array in arrays]).astype("<f4")
    if weights.nbytes > MAX_BYTES:
        return {
            "absent": f"The model has {weights.nbytes / 1e6:.1f} MB of weights; this page holds at most"
            f" {MAX_BYTES / 1e6:.0f} MB. airrvec embed and airrvec annotate take receptors of your own."
        }
    return {
        "model": VARIANTS[model.name][1] if model.name in VARIANTS else model.name,
        "shape": {
            "d": config.d_model,
            "heads": config.n_heads,
            "wide": config.d_feedforward,
            "layers": config.n_layers,
            "pooling": config.pooling,
            "relative": not left_aligned,
            "loops": list(config.loops),
            "words": embedding.of_word.shape[1],
            "places": embedding.of_position.shape[1],
        },
        "weights": base64.b64encode(weights.tobytes()).decode(),
        "longest": MAX_LENGTH,
        "species": {name: genes(name) for name in sorted(set(receptors["species"]))},
        "radii": {
            group["species"]: [group["radius"], clusters["chance"]]
            for group in (clusters or {}).get("groups", [])
            if group["chains"] == "paired"
        },
        "compared": int(min(len(receptors), max(1, MAX_WORK // config.n_parameters))),
    }


def genes(species: str) -> dict:
    """
    Return the V genes, alleles and families of the α and β loci, and their germline loops.

    Parameters
    ----------
    species : str
        A key of `airrvec.core.schema.SPECIES`.

    Returns
    -------
    dict
        ``title`` of the species; ``loops``: distinct pairs of CDR1 and CDR2; ``genes``: name → number of its
        pair, or -1 if it is a pseudogene, as `airrvec.input.calls.read_call` reads it; ``frames``: names of
        open reading frames, which chains of the run may have, but pasted ones may not, as nothing calls these
        productive; ``ends``: last residues of junctions that end neither in F nor in W, such as those of
        TRAJ35.
    """
    found: dict[str, int] = {}
    pairs: dict[tuple[str, str], int] = {}
    frames = []
    for name in _names(species):
        call = read_call(name, "V", species)
        if call.functionality == imgt.OPEN_READING_FRAME:
            frames.append(name)
        if call.symbol is None:
            found[name] = -1
        else:
            pair = v_loops(call.symbol, species)
            found[name] = pairs.setdefault(pair, len(pairs))
    ends = {
        anchor.before[-2:] + anchor.residue
        for locus in schema.LOCI
        for anchor in j_anchors(None, locus, species)
        if anchor.residue not in "FW"
    }
    return {
        "title": schema.SPECIES[species][2],
        "loops": [list(pair) for pair in pairs],
        "genes": found,
        "frames": frames,
        "ends": sorted(ends),
    }


def _names(species: str) -> list[str]:
    alleles = imgt.alleles(r"^TR[AB]V|/DV", species)
    names = set(alleles)
    for allele in alleles:
        gene = allele.split("*")[0]
        names |= {gene, re.sub(r"-\d+$", "", gene)}  # and its family
    return sorted(names)
