"""
Processor time of each process, by how much there is of what it works on.

Measured on three runs, with which ``benchmarks/speed/plans.py`` compares the plans made of it
(docs/benchmarks/speed.md, "Planning").
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Unit → number: what `airrvec.app.planning` counts in the beginning of the tables.
Work = Mapping[str, float]


@dataclass(frozen=True)
class Cost:
    """
    Seconds of one core that a process takes.

    Attributes
    ----------
    start : float
        Of each task, whatever its work.
    rates : dict
        Unit of `Work` → units a second, in all tasks; the plan shows the first.
    """

    start: float
    rates: Mapping[str, float] = field(default_factory=dict)

    def seconds(self, tasks: int, work: Work) -> float:
        """Return the seconds of all tasks together."""
        return tasks * self.start + sum(work[unit] / rate for unit, rate in self.rates.items())


COSTS: dict[str, Cost] = {
    "CHECK_SAMPLES": Cost(0.9, {"tables": 20}),
    "CHECK_DEVICE": Cost(2.5),
    "NORMALISE_RECEPTORS": Cost(1.0, {"rows": 150_000}),
    "NORMALISE_REFERENCE": Cost(0.7, {"rows of references": 45_000}),
    "COLLECT_RECEPTORS": Cost(0.75, {"receptors": 250_000}),
    "MERGE_REFERENCES": Cost(0.8, {"rows of references": 22_000}),
    "EMBED_RECEPTORS": Cost(1.2, {"tokens": 490_000}),
    "MERGE_EMBEDDINGS": Cost(0.8, {"receptors": 450_000}),
    "COUNT_CLONES": Cost(1.2, {"cells": 40_000}),
    "DESCRIBE_SAMPLES": Cost(1.1, {"cells": 230_000}),
    "DESCRIBE_GAMMA_DELTA": Cost(1.5),
    "EXPORT_AIRR": Cost(1.0, {"cells": 200_000}),
    "DESCRIBE_CELLS": Cost(1.3, {"cells": 200_000}),
    "EXPORT_ANNDATA": Cost(2.0, {"cells": 20_500}),
    "BENCHMARK_FEWSHOT": Cost(1.3, {"labelled receptors": 500}),
    "SUMMARISE_FEWSHOT": Cost(3.3),
    "CALIBRATE_ANNOTATION": Cost(1.5, {"calibrated receptors": 1_050}),
    "ANNOTATE_RECEPTORS": Cost(1.5, {"cells of samples": 2_900, "references of all tasks": 4_400}),
    "EMBED_BACKGROUND": Cost(1.5, {"classes of chains": 0.5, "receptors": 60_000, "paired receptors": 7_300}),
    "COMPARE_SAMPLES": Cost(2.5, {"pairs of samples": 8, "receptors": 70_000}),
    "CLUSTER_RECEPTORS": Cost(4.5, {"receptors": 16_500}),
    "ASSOCIATE_HLA": Cost(1.4),
    "DESCRIBE_CLONES": Cost(0.8, {"cells": 130_000, "references": 20_000}),
    "COMPARE_CONDITIONS": Cost(1.8, {"cells": 300_000}),
    "PLACE_RECEPTORS": Cost(1.5, {"receptors": 17_000, "points of the map": 2_500}),
    "MAP_RECEPTORS": Cost(2.5, {"points of the map": 8_000}),
    "REPORT": Cost(2.0, {"cells": 180_000}),
    "RENDER_REPORT": Cost(3.5),
    "HANDOVER": Cost(9.5, {"rows of the spreadsheet": 9_000}),
}
MOST_TESTED = 1_000  # pairs of samples that COMPARE_SAMPLES tests; of more it tests none
DRAWN = 1_000  # receptors of a sample in these tests, at most
MOST_POINTS = 50_000  # of the map
MOST_CLONES = 100_000  # in the spreadsheet of clones
# Vectors of other dimensions than 64: how many times as many tokens a second.
FASTER = {16: 3.1, 32: 2.0, 64: 1.0, 128: 0.235}


def tokens_at_64_dimensions(tokens: float, dimensions: int) -> float:
    """Return how many tokens of a model with 64 dimensions take as long."""
    return tokens / FASTER[min(FASTER, key=lambda known: abs(known - dimensions))]
