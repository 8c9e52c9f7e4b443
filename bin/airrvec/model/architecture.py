"""Shape of a model and of its weights; without torch, which embedding on CPUs does not need."""

import math
from dataclasses import dataclass
from typing import Literal

from airrvec.model import tokens as tk

MAX_LENGTH = 100  # longest loop of a left-aligned model, in residues
FIXED_WEIGHTS = ("embedding.residue_features", "embedding.position")  # arrays of weights that are not learnt

# Limits on the configuration in a model's folder, checked before its weights are compared with it.
CONFIG_LIMITS = {"n_layers": 1_000, "d_model": 100_000, "n_heads": 100_000, "d_feedforward": 1_000_000}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """
    Shape of a model.

    Attributes
    ----------
    loops : tuple of str
        CDR loops that the model reads, in order.
    embedding : {"one_hot", "blosum62", "left_aligned"}
        Token embedding. ``one_hot`` and ``blosum62`` project fixed features of residue, relative position
        and loop (22 + 1 + 6 = 29 features for ``one_hot`` and six loops). ``left_aligned`` sums learnt
        residue and loop vectors and sinusoidal positions (appendix, "Effects of different position
        embedding methods").
    pooling : {"cls", "average"}
        Vector of the receptor: ``<cls>`` of the last layer, or the mean of the residues' vectors of the
        layer before the last.
    """

    loops: tuple[str, ...] = tk.ALL_LOOPS
    embedding: Literal["one_hot", "blosum62", "left_aligned"] = "one_hot"
    pooling: Literal["cls", "average"] = "cls"
    n_layers: int = 3
    d_model: int = 64
    n_heads: int = 8
    d_feedforward: int = 256
    dropout: float = 0.1

    def __post_init__(self):
        if (
            not self.loops
            or sorted(set(self.loops)) != sorted(self.loops)
            or set(self.loops) - {*tk.ALL_LOOPS}
        ):
            raise ValueError(
                f"loops are {list(self.loops)}; give one or more of {', '.join(tk.ALL_LOOPS)}, each once"
            )
        for name, largest in CONFIG_LIMITS.items():
            if not 1 <= getattr(self, name) <= largest:
                raise ValueError(f"{name} is {getattr(self, name)}, not from 1 to {largest:,}")
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model, {self.d_model}, is not a multiple of n_heads, {self.n_heads}")
        if self.embedding == "left_aligned" and self.d_model % 2:
            raise ValueError(f"d_model is {self.d_model}; a left-aligned model needs an even number")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}, not at least 0 and below 1")

    @property
    def n_features(self) -> int:
        """Number of fixed features of a residue, for ``one_hot`` and ``blosum62``."""
        return 20 if self.embedding == "blosum62" else tk.N_RESIDUES - 1

    @property
    def n_parameters(self) -> int:
        """
        Number of learnt parameters that determine a vector: without the masked-language-modelling head
        and the fixed features of residues and positions.
        """
        return sum(
            math.prod(shape)
            for name, shape in self.shapes().items()
            if name not in FIXED_WEIGHTS and not name.startswith("mlm_head.")
        )

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each weight array, by name in `airrvec.model.transformer.ReceptorEncoder`."""
        d, wide, n_loops = self.d_model, self.d_feedforward, len(self.loops)
        shapes = {"mlm_head.weight": (len(tk.AMINO_ACIDS), d), "mlm_head.bias": (len(tk.AMINO_ACIDS),)}
        if self.embedding == "left_aligned":
            shapes["embedding.residue.weight"] = (tk.N_RESIDUES, d)
            shapes["embedding.loop.weight"] = (1 + n_loops, d)
            shapes["embedding.position"] = (1 + MAX_LENGTH, d)
        else:
            shapes["embedding.residue_features"] = (tk.N_RESIDUES, self.n_features)
            shapes["embedding.projection.weight"] = (d, self.n_features + 1 + n_loops)
            if self.embedding == "blosum62":
                shapes["embedding.special"] = (tk.FIRST_AMINO_ACID, self.n_features)
        sizes = {"qkv": (3 * d, d), "out": (d, d), "expand": (wide, d), "contract": (d, wide)}
        for layer in range(self.n_layers):
            for name, size in {**sizes, "norm1": (d,), "norm2": (d,)}.items():
                shapes[f"layers.{layer}.{name}.weight"] = size
                shapes[f"layers.{layer}.{name}.bias"] = size[:1]
        return shapes
