"""The verbs clones, cluster and compare, which take all samples together: their work."""

from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work, one_table


def clones(work: Work) -> None:
    """Count the clones of each donor, and describe them."""
    samples, cells, receptors = zip(*work.normalised(work.folder), strict=True)
    counted = _counted(work, samples, cells, work.collected(receptors))
    at_work.run("describe_clones", "--clones", counted, *work.words("threads"), "--outdir", work.results)
    for name in ("counts", "members", "samples"):
        (counted / f"{name}.parquet").rename(work.results / f"{name}.parquet")
    (counted / "clones.qc.json").rename(work.results / "clones.qc.json")


def cluster(work: Work) -> None:
    """Cluster the receptors; compare clusters with the donors' HLA, and conditions, if the sheet has them."""
    cells, common, clones = _prepared(work)
    at_work.run("cluster_receptors", "--cells", *cells, *common, *work.words("cluster_method"))
    if verb_files.names_hla(work.options):
        at_work.run(
            "associate_hla",
            *("--clones", clones, "--clusters", work.results, "--samplesheet", _sheet(work)),
            *(*work.words("hla_fields", "compare_within"), "--outdir", work.results),
        )
    if work.options.compare_by:
        described = work.folder / "samples"
        _describe_samples(work, clones, described)
        _conditions(work, clones, described)


def compare(work: Work) -> None:
    """Compare the samples, and the conditions that they are of."""
    _, common, clones = _prepared(work)
    names = ("compare_by", "compare_receptors", "compare_permutations", "compare_weights")
    at_work.run("compare_samples", *common, *work.words(*names))
    _describe_samples(work, clones, work.results)
    if work.options.compare_by:
        _conditions(work, clones, work.results)


def _prepared(work: Work) -> tuple[tuple[Path, ...], tuple, Path]:
    """Embed and count; return the cells, the options that all analyses share, and the folder of clones."""
    samples, cells, receptors = zip(*work.normalised(work.folder), strict=True)
    vectors = work.folder / "vectors.parquet"
    merged = work.embedded(receptors, vectors)
    clones = _counted(work, samples, cells, merged)
    common = ("--clones", clones, "--receptors", merged, "--embeddings", vectors, "--outdir", work.results)
    return cells, (*common, *work.words("model", "threads", "cluster_chance", "background", "seed")), clones


def _counted(work: Work, samples: tuple, cells: tuple[Path, ...], receptors: Path) -> Path:
    """Count the clones; return the folder of their tables."""
    folder = work.folder / "clones"
    chains = [work.folder / f"{sample.name}.chains.parquet" for sample in samples]
    options = ("--receptors", receptors, *work.words("clone_by", "threads"), "--outdir", folder)
    at_work.run("count_clones", "--cells", *cells, "--chains", *chains, *options)
    return folder


def _describe_samples(work: Work, clones: Path, outdir: Path) -> None:
    at_work.run("describe_samples", "--clones", clones, *work.words("threads"), "--outdir", outdir)


def _conditions(work: Work, clones: Path, described: Path) -> None:
    """Compare the samples by the column that the options name, from all tables that the verb has made."""
    table = work.folder / "clones_described"
    members = work.results / "members.parquet"
    options = ("--members", members) if members.exists() else ()
    at_work.run("describe_clones", "--clones", clones, *options, "--outdir", table)
    at_work.run(
        "compare_conditions",
        *("--clones", clones, "--described", described, "--table", table / "clones.parquet"),
        *("--comparison", work.results, "--samplesheet", _sheet(work)),
        *work.words("compare_by", "compare_within", "compare_permutations", "seed", "threads"),
        *("--outdir", work.results),
    )


def _sheet(work: Work) -> Path:
    return one_table(work.options.tables)
