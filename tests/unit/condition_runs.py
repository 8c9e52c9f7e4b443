"""Samples described and compared by a column, by the scripts, for the tests of what they write."""

from pathlib import Path

import compare_conditions
import describe_clones
import describe_samples


def compare(folder: Path, clones: Path, by: str, *options: str, clusters=None, comparison=None) -> Path:
    """Compare the samples of counted clones by a column; return the folder of the results."""
    samples, described, out = (folder / name for name in ("described", "described_clones", "conditions"))
    describe_samples.main(["--clones", str(clones), "--outdir", str(samples)])
    members = ["--members", str(clusters / "members.parquet")] if clusters else []
    describe_clones.main(["--clones", str(clones), *members, "--outdir", str(described)])
    table = str(described / "clones.parquet")
    words = [
        "--clones",
        clones,
        "--described",
        samples,
        "--table",
        table,
        "--compare-by",
        by,
        "--outdir",
        out,
    ]
    words += ["--comparison", comparison] if comparison else []
    compare_conditions.main([*map(str, words), *options])
    return out
