"""
Methods of `annotation_peers` as programs: commands, their files, their calls, and the resources they used.

vdjmatch and TCREMP are GPL. Each is installed from PyPI into an environment of its own, runs as a program,
and exchanges tables with this one.
"""

import pickle
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from airrvec.annotation.reference_set import conventional
from airrvec.core import schema

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.common.peer_methods import Fold
from benchmarks.common.timing import usage_of

HERE = Path(__file__).parent
PACKAGES = {"vdjmatch": "vdjmatch==0.6.2", "tcremp": "mirpy-lib==4.7.0"}
SPECIES = "homosapiens"
CHAINS = {"alpha": "tra", "beta": "trb"}


def environment(package: str, cache: Path) -> Path:
    """Return the Python of an environment with a package of `PACKAGES`; made unless it is in the cache."""
    folder = cache.absolute() / PACKAGES[package]
    python, finished = folder / "bin" / "python", folder / "finished"
    if finished.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    if uv := shutil.which("uv"):
        commands = [
            [uv, "venv", "--no-project", "--python", sys.executable, folder],
            [uv, "pip", "install", "--quiet", "--python", python, PACKAGES[package]],
        ]
    else:
        commands = [
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "--quiet", PACKAGES[package]],
        ]
    for command in commands:
        subprocess.run(list(map(str, command)), check=True, stdout=sys.stderr)
    finished.touch()
    return python


def run(command: list, folder: Path, limit: int) -> dict:
    """Return the resources that a program used (`usage_of`); its output is in ``folder``/log.txt."""
    with open(folder / "log.txt", "w") as log:
        return usage_of(command, folder / "usage.json", limit=limit, cwd=folder, stdout=log, stderr=log)


@dataclass(frozen=True)
class Own:
    """A method of `peer_methods`."""

    title: str
    method: str

    def prepare(self, fold: Fold, folder: Path, cache: Path) -> list:
        with open(folder / "fold.pickle", "wb") as handle:
            pickle.dump(fold, handle)
        return [sys.executable, HERE / "peer_methods.py", self.method, "fold.pickle", "calls.parquet"]

    def read(self, fold: Fold, folder: Path) -> pd.DataFrame:
        return pd.read_parquet(folder / "calls.parquet")


@dataclass(frozen=True)
class Vdjmatch:
    """
    `vdjmatch annotate`, with the same pairs as reference, their β chains, or all β chains.

    The epitope is the selected one (paired: by linked α and β chains).

    Attributes
    ----------
    locus : {"paired", "TRB"}
    candidates : bool
        Whether epitopes with few references are left out of the reference.
    score : {"kernel_score", "kernel_support_share"}
        Evidence for the epitope, or its share in that for this and the next one.
    unpaired : bool
        Whether all β chains of the other studies are references, of the same candidates.
    """

    title: str
    locus: str
    candidates: bool
    score: str = "kernel_score"
    unpaired: bool = False

    def prepare(self, fold: Fold, folder: Path, cache: Path) -> list:
        rows = beta_rows(fold) if self.unpaired else labelled_rows(fold, self.candidates)
        receptors, epitopes = rows
        reference = self.chains(receptors).assign(epitope=epitopes, species="HomoSapiens")
        reference.drop_duplicates().to_csv(folder / "reference.tsv", sep="\t", index=False)
        queries = self.chains(with_alleles(fold.queries))
        name = "clone_id" if self.locus == "paired" else "sequence_id"
        queries.insert(0, name, [f"q{row}" for row in range(len(queries))])
        queries.to_csv(folder / "queries.tsv", sep="\t", index=False)
        program = environment("vdjmatch", cache).with_name("vdjmatch")
        options = ["--locus", self.locus, "--reference-population", "all-valid", "--threads", 1]
        return [program, "annotate", "queries.tsv", "--vdjdb", "reference.tsv", *options, "-o", "found"]

    def chains(self, receptors: pd.DataFrame) -> pd.DataFrame:
        """Return receptors in vdjmatch's columns."""
        names = {"v_call": "v", "j_call": "j", "junction_aa": "junction_aa"}
        if self.locus == "paired":
            columns = {
                f"{name}_{chain}": f"{locus}_{column}"
                for chain, locus in CHAINS.items()
                for column, name in names.items()
            }
        else:
            columns = {column: f"trb_{column}" for column in names}
        shown = pd.DataFrame({name: receptors[column] for name, column in columns.items()})
        return shown if self.locus == "paired" else shown.assign(locus=self.locus)

    def read(self, fold: Fold, folder: Path) -> pd.DataFrame:
        hits = pd.read_csv(folder / "found.selection.tsv", sep="\t", low_memory=False)
        paired = self.locus == "paired"
        row = hits["source_clone_id" if paired else "source_sequence_id"].str[1:].astype(int)
        epitope = hits["selected_linked_epitope" if paired else "selected_epitope"]
        calls = pd.DataFrame({"epitope": epitope, "score": hits[self.score]}).set_axis(row)
        return calls.reindex(range(len(fold.queries))).reset_index(drop=True)


@dataclass(frozen=True)
class Tcremp:
    """
    Nearest reference in TCREMP's space; the score is minus the distance. References of candidates alone.

    Attributes
    ----------
    metric : {"squared", "sqrt"}
        Coordinates: distances to prototypes (mirpy's default), or their square roots.
    """

    title: str
    metric: str

    def prepare(self, fold: Fold, folder: Path, cache: Path) -> list:
        labelled_rows(fold, True)[0].to_csv(folder / "references.tsv", sep="\t", index=False)
        with_alleles(fold.queries).to_csv(folder / "queries.tsv", sep="\t", index=False)
        files = ["references.tsv", "queries.tsv", "nearest.npz"]
        return [environment("tcremp", cache), HERE / "peer_tcremp.py", self.metric, *files]

    def read(self, fold: Fold, folder: Path) -> pd.DataFrame:
        neighbours = np.load(folder / "nearest.npz")
        epitopes = labelled_rows(fold, True)[1]
        return pd.DataFrame({"epitope": epitopes[neighbours["nearest"]], "score": -neighbours["distance"]})


def labelled_rows(fold: Fold, candidates: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a row for each receptor and epitope of the references; epitopes in the order of frequency."""
    frequent = fold.known.epitopes["n_references"].to_numpy()
    used = fold.candidates if candidates else np.ones(len(frequent), bool)
    row, epitope = (fold.known.labels.toarray() * used).nonzero()
    order = np.lexsort((row, -frequent[epitope]))
    receptors = with_alleles(fold.known.receptors).iloc[row[order]].reset_index(drop=True)
    return receptors, fold.known.epitopes["epitope"].to_numpy()[epitope[order]]


def beta_rows(fold: Fold) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a row for each β chain, paired or not, of the other studies and each candidate that it binds."""
    cells = fold.cells.select(["receptor_id", "epitope"]).to_pandas().drop_duplicates()
    cells = cells[cells["epitope"].isin(fold.known.epitopes["epitope"][fold.candidates])]
    shown = conventional(fold.receptors)
    shown = shown.filter(pc.equal(shown["species"], SPECIES))
    frame = with_alleles(shown).assign(receptor_id=shown["receptor_id"].to_numpy())
    rows = frame.merge(cells, on="receptor_id").dropna(subset=["trb_v_call", "trb_junction_aa"])
    return rows.drop(columns=["receptor_id", "epitope"]), rows["epitope"].to_numpy()


def with_alleles(receptors: pa.Table) -> pd.DataFrame:
    """Return genes and junctions; a gene without an allele gets ``*01``: the peers look up alleles."""
    frame = receptors.select(list(schema.RECEPTOR_FIELDS)).to_pandas()
    for name in frame.columns[frame.columns.str.endswith("_call")]:
        frame[name] = frame[name].where(
            frame[name].str.contains("*", regex=False, na=True), frame[name] + "*01"
        )
    return frame


METHODS: dict[str, Own | Vdjmatch | Tcremp] = {
    "airrvec": Own("airrvec", "airrvec"),
    "tcrdist": Own("TCRdist, nearest reference", "tcrdist"),
    "exact": Own("exact match", "exact"),
    "vdjmatch_paired": Vdjmatch("vdjmatch, paired, candidates", "paired", True),
    "vdjmatch_paired_share": Vdjmatch(
        "vdjmatch, paired, candidates, share", "paired", True, "kernel_support_share"
    ),
    "vdjmatch_paired_all": Vdjmatch("vdjmatch, paired, all epitopes", "paired", False),
    "vdjmatch_beta": Vdjmatch("vdjmatch, β, candidates", "TRB", True),
    "vdjmatch_beta_unpaired": Vdjmatch(
        "vdjmatch, β, candidates, all β references", "TRB", True, unpaired=True
    ),
    "vdjmatch_beta_all": Vdjmatch("vdjmatch, β, all epitopes", "TRB", False),
    "tcremp_sqrt": Tcremp("TCREMP (square root), nearest reference", "sqrt"),
    "tcremp": Tcremp("TCREMP (default), nearest reference", "squared"),
}
