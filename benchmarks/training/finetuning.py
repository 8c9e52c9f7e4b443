#!/usr/bin/env python3
"""
Fine-tuning on the paper's task, with several seeds: the tables of docs/benchmarks/training.md.

Each run is `finetune.py` as the pipeline calls it, on one thread. A run that is in the folder of results is
not repeated, and one that was cut off resumes.

    python benchmarks/training/finetuning.py vdjdb_full_2023-06-01.txt.gz --jobs 2 --outdir finetuning
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import tables
from airrvec.core.schema import MEAN, NOT_TRAINED
from airrvec.evaluation import fewshot

from benchmarks.common import results

# Start, preset and how the tables call the model; the slowest first.
TRAINED = (
    ("sceptr", "finetuned", "fine-tuned, paper's way"),
    ("sceptr_large", "neighbour", "large fine-tuned, neighbour"),
    ("sceptr", "neighbour", "fine-tuned, neighbour"),
)
NAMES = {"sceptr": "SCEPTR", "sceptr_large": "SCEPTR, large", "v_j_genes": "V and J genes alone"}
NEAREST, AVERAGE, CONTRAST = "nearest_neighbour", "average_distance", "contrast"
# Columns: rule, test set, k (0: epitopes that were trained), whether TCRdist is added.
TABLES = (
    (
        *((rule, "all", 0, False) for rule in ("logistic_regression", AVERAGE, NEAREST, CONTRAST)),
        (CONTRAST, "all", 0, True),
        *((NEAREST, test_set, k, False) for test_set in ("all", NOT_TRAINED) for k in (1, 20)),
        *((NEAREST, test_set, 20, True) for test_set in ("all", NOT_TRAINED)),
    ),
    tuple(
        (rule, test_set, 0, False)
        for rule in ("logistic_regression", AVERAGE, NEAREST, CONTRAST)
        for test_set in ("below_90", "below_80")
    ),
)


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("labelled", type=Path, help="labelled table, in any input format")
    parser.add_argument("--seeds", type=int, nargs="+", default=[420, 1, 2])
    presets = sorted({preset for _, preset, _ in TRAINED})
    parser.add_argument("--presets", nargs="+", choices=presets, default=presets)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--starts", nargs="+", default=["sceptr", "sceptr_large"], help="models to tune")
    parser.add_argument("--device", default="cpu", help="of finetune.py: auto, cpu, gpu")
    parser.add_argument("--options", default="", help="further options of finetune.py, in one word")
    parser.add_argument("--outdir", type=Path, default=Path("finetuning"))
    return parser.parse_args(argv)


def script(name: str, *options) -> None:
    subprocess.run([sys.executable, ROOT / "bin" / name, *map(str, options)], check=True)


def finetune(args, start: str, preset: str, seed: int) -> None:
    outdir = args.outdir
    folder = outdir / f"{start}_{preset}_{seed}"
    if (folder / "finetune.qc.json").exists():
        return
    folder.mkdir(exist_ok=True)
    begin = time.monotonic()
    script(
        "finetune.py",
        *("--cells", outdir / "labelled.cells.parquet"),
        *("--receptors", outdir / "labelled.receptors_0000.parquet"),
        *("--exclude-references", "10xgenomics", "--model", start),
        *("--preset", ROOT / f"conf/models/{preset}.json", "--name", f"{start}_{preset}"),
        *("--seed", seed, "--device", args.device, *args.options.split()),
        *("--checkpoints", folder / "checkpoints", "--outdir", folder),
    )
    print(f"{folder.name}: {(time.monotonic() - begin) / 60:.1f} minutes", file=sys.stderr, flush=True)


def aurocs(folder: Path) -> pd.DataFrame:
    """Means over the epitopes of a run; `k` is 0 where the epitopes were trained."""
    specificity = pd.read_parquet(folder / "specificity.parquet").assign(k=0)
    unseen = fewshot.summarise(tables.read(folder / "unseen.parquet")).to_pandas()
    means = pd.concat([specificity, unseen.rename(columns={"auroc_mean": "auroc"})])
    means = means[means["epitope"] == MEAN].reset_index()
    means[["model", "added"]] = means["encoder"].str.partition("+")[[0, 2]]
    return means


def table(means: pd.DataFrame, columns) -> str:
    """Mean, least and most of the seeds, in Markdown."""
    keys = ["model", "rule", "test_set", "k", "added"]
    seed_stats = means.groupby(keys)["auroc"].agg(["mean", "min", "max"])
    heads = [
        f"{rule}, {test_set}{f', k = {k}' if k else ''}{', with TCRdist' if added else ''}"
        for rule, test_set, k, added in columns
    ]
    lines = ["| Model | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    names = {**NAMES, **{f"{start}_{preset}": name for start, preset, name in TRAINED}}
    values = dict(zip(seed_stats.index, seed_stats.to_numpy().tolist(), strict=True))
    for model in filter(seed_stats.index.get_level_values("model").__contains__, names):
        row = []
        for rule, test_set, k, added in columns:
            key = (model, rule, test_set, k, "tcrdist" if added else "")
            row.append("{:.3f} ({:.3f}–{:.3f})".format(*values[key]) if key in values else "")
        lines.append(f"| {names[model]} | " + " | ".join(row).replace("0.", ".") + " |")
    return "\n".join(lines)


def main(argv=None):
    args = parse_args(argv)
    args.outdir.mkdir(parents=True, exist_ok=True)
    if not (args.outdir / "labelled.cells.parquet").exists():
        script("normalise_receptors.py", args.labelled, "--sample", "labelled", "--outdir", args.outdir)
    trained = [
        (start, preset) for start, preset, _ in TRAINED if preset in args.presets and start in args.starts
    ]
    runs = [(*model, seed) for model in trained for seed in args.seeds]
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda run: finetune(args, *run), runs))
    means = pd.concat(aurocs(args.outdir / "_".join(map(str, run))).assign(seed=run[-1]) for run in runs)
    # SCEPTR before training is measured beside each preset, alike.
    means = means.drop_duplicates(["encoder", "rule", "test_set", "k", "seed"])
    for columns in TABLES:
        print(f"\n{table(means, columns)}")
    keys = ["model", "rule", "test_set", "k", "added", "seed", "auroc"]
    figures = {"seeds": args.seeds, "aurocs": means[keys].to_dict("records")}
    results.write(args, figures, ["torch", "lightning"])


if __name__ == "__main__":
    main()
