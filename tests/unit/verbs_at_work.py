"""Every verb of the command on small tables, in a place that has foreign files everywhere."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from finished_runs import FLU
from inputs import DATA, ROOT

import bystanders

DEMO = ROOT / "assets/demo"
TABLES = {
    "flu_4.csv": DEMO / "donors/flu_4.csv",
    "flu_1.csv": FLU["flu_1"],
    "other_donors.csv": DEMO / "other_donors.csv",
    "other_donors.json": DEMO / "other_donors.json",
    "dash.csv": DEMO / "dash_human.csv",
    "vdjdb.tsv": DATA / "vdjdb_full.tsv",
}
REFERENCE = ("--reference", "in/other_donors.csv", "--column-map", "in/other_donors.json")
CALIBRATION = ("--background-receptors", "3000", "--calibrations", "calibrations")
FEW = ("--benchmark-k", "5", "--benchmark-splits", "2", "--benchmark-min-positives", "50")
STEPS = (
    "--finetune-min-receptors",
    "50",
    "--finetune-split",
    "random",
    "--train-steps",
    "2",
    "--checkpoint-every",
    "1",
)
TINY = ("--preset", "tiny", "--train-steps", "2", "--train-batch-size", "64")

# Verb → its words.
VERBS = {
    "normalise": ("in/flu_4.csv", "in/flu_1.csv", "--outdir", "out"),
    "embed": ("in/flu_4.csv", "--threads", "1", "--out", "out/vectors.parquet"),
    "annotate": ("in/flu_4.csv", *REFERENCE, *CALIBRATION, "--threads", "1", "--outdir", "out"),
    "reference": ("in/dash.csv", "in/vdjdb.tsv", "--outdir", "out"),
    "cluster": ("in/sheet.csv", "--threads", "1", "--outdir", "out"),
    "compare": ("in/sheet.csv", "--compare-by", "tissue", "--threads", "1", "--outdir", "out"),
    "benchmark": ("in/dash.csv", "--encoders", "sceptr", *FEW, "--threads", "1", "--outdir", "out"),
    "finetune": ("in/dash.csv", *STEPS, "--threads", "1", "--outdir", "out"),
    "pretrain": ("in/dash.csv", *TINY, "--checkpoint-every", "1", "--threads", "1", "--outdir", "out"),
    "clones": ("in/sheet.csv", "--threads", "1", "--outdir", "out"),
    "nearest": ("in/flu_4.csv", "--references", "in/dash.csv", "--threads", "1", "--out", "out/near.tsv"),
    "index": ("results", "--index", "out/index", "--background", "200", "--threads", "1"),
    "find": ("in/flu_4.csv", "--index", "results", "--k", "2", "--threads", "1", "--out", "out/near.tsv"),
    "verify": ("results",),
    "columns": ("cells",),
}
NOTHING_WRITTEN = ("verify", "columns")
# Verb → its last script.
LAST = {
    "normalise": "normalise_receptors",
    "embed": "embed_receptors",
    "annotate": "annotate_receptors",
    "reference": "merge_references",
    "cluster": "associate_hla",
    "compare": "compare_conditions",
    "benchmark": "summarise_fewshot",
    "finetune": "finetune",
    "pretrain": "pretrain",
    "clones": "describe_clones",
}


@dataclass(frozen=True)
class Place:
    """
    A working folder with inputs, and with foreign files in all of its folders.

    Attributes
    ----------
    folder : Path
        With ``in`` (tables), ``results`` (of a run), ``calibrations``, ``cache`` and ``out``.
    before : dict
        Of `bystanders`: foreign files and links, and the inputs.
    """

    folder: Path
    before: bystanders.State

    def changes(self) -> list[str]:
        """Return a line for each foreign file, link and input that has changed."""
        return bystanders.changes(self.before)

    def content(self) -> set[str]:
        """Return the names of all that is in ``out``."""
        out = self.folder / "out"
        return {path.relative_to(out).as_posix() for path in out.rglob("*")}

    def process(self, *words, code: str = "") -> subprocess.CompletedProcess:
        """Run the command in a process of its own, after some lines of Python."""
        lines = f"import sys\nfrom airrvec.app import cli\n{code}\ncli.main(sys.argv[1:])"
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "bin"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        given = [sys.executable, "-c", lines, *map(str, words)]
        return subprocess.run(
            given, cwd=self.folder, env=variables, capture_output=True, text=True, check=False
        )


def prepare(folder: Path, results: Path) -> Place:
    """Copy inputs and the results of a run, and write foreign files around them."""
    inputs = folder / "in"
    inputs.mkdir(parents=True)
    for name, path in TABLES.items():
        shutil.copy(path, inputs / name)
    (inputs / "sheet.csv").write_text("sample,path,tissue,hla\na,flu_1.csv,x,A2\nb,flu_4.csv,y,A1\n")
    shutil.copytree(results, folder / "results")
    before = bystanders.seen(folder / "results", *inputs.iterdir())
    for part in (folder, inputs, folder / "calibrations", folder / "cache", folder / "out"):
        before |= bystanders.plant(part)
    return Place(folder, before)


# Before the n-th file or folder that meets the condition gets its name, the process ends as if the system
# killed it.
KILL = """
import os, signal
count = 0
def dying(function):
    def named(source, target, **options):
        global count
        count += bool({condition})
        if count == {n}:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(source, target, **options)
    return named
os.replace, os.rename = dying(os.replace), dying(os.rename)
"""
ANYWHERE = "True"
TO_ITS_PLACE = "str(target).startswith('out/') and '.tmp/' not in str(target)"
