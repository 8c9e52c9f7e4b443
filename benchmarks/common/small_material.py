"""Small inputs with which `test_benchmarks` runs every benchmark."""

import os
import subprocess
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from airrvec.core import tables

import pandas as pd

import calibrate_annotation
from benchmarks.common import challenge_stand_ins, results
from benchmarks.common.material import normalised

DASH = results.ROOT / "assets/demo/dash_human.csv"
CONTIGS = results.ROOT / "assets/demo/10x_lavage_filtered_contig_annotations.csv.gz"
EPITOPES = {"M1": "GILGFVFTL", "BMLF": "GLCTLVAML", "pp65": "NLVPMVATV"}
DONOR = "HLA-A*02:01,HLA-A*01:01,HLA-B*07:02"
TRACE = """task_id\tprocess\tstatus\tstart\tcomplete\trealtime\t%cpu
1\tA\tCOMPLETED\t1000\t3000\t1500\t100.0
2\tB\tCOMPLETED\t2000\t5000\t2500\t90.0
3\tC\tCOMPLETED\t6000\t7000\t1000\t80.0
"""
PLAN = "process\ttasks\tseconds_each\nA\t1\t0.75\nB\t1\t\nC\t2\t0.5\n"
MAKEFILE = """demo:
\t@echo nextflow run .
\t@mkdir -p results/demo/multiqc .venv
\t@echo report > results/demo/multiqc/multiqc_report.html
\t@echo library > .venv/library
"""
REPORT = """<!doctype html><body style="color: #222; background: #fff">
<div class="mainpage"><p>Words</p></div><div class="js-plotly-plot">
<svg width="200" height="60"><g class="legend"><text y="20" fill="#222">One</text></g>
<g class="xtick"><text y="40" fill="#222">1</text></g></svg></div>
"""


class Material:
    """Inputs of the benchmarks, made when they are needed."""

    def __init__(self, folder: Path):
        self.folder = folder

    @cached_property
    def vdjdb(self) -> Path:
        """The demonstration's labelled receptors as a VDJdb table, a study for each donor."""
        dash = pd.read_csv(DASH)
        columns = {
            **{"cdr3.alpha": dash["cdr3_a_aa"], "v.alpha": dash["v_a_gene"], "j.alpha": dash["j_a_gene"]},
            **{"cdr3.beta": dash["cdr3_b_aa"], "v.beta": dash["v_b_gene"], "d.beta": ""},
            **{"j.beta": dash["j_b_gene"], "species": "HomoSapiens"},
            **{"mhc.a": "HLA-A*02:01", "mhc.b": "B2M", "mhc.class": "MHCI"},
            **{"antigen.epitope": dash["epitope"].map(EPITOPES), "antigen.gene": dash["epitope"]},
            "antigen.species": "virus",
            "reference.id": "PMID:" + dash["subject"].str.extract(r"(\d+)")[0],
            **{"meta.clone.id": dash["clone_id"], "meta.donor.MHC": DONOR},
        }
        table = pd.DataFrame(columns)
        table.to_csv(self.folder / "vdjdb.tsv", sep="\t", index=False)
        return self.folder / "vdjdb.tsv"

    @cached_property
    def labelled(self) -> pd.DataFrame:
        """The demonstration's labelled receptors, with their epitopes' sequences."""
        dash = pd.read_csv(DASH)
        return dash.assign(epitope=dash["epitope"].map(EPITOPES))

    @cached_property
    def immrep22(self) -> Path:
        """A stand-in of the challenge's repository."""
        return challenge_stand_ins.immrep22(self.labelled, self.folder / "immrep22")

    @cached_property
    def epytope(self) -> Path:
        """A stand-in of the benchmark's repository."""
        return challenge_stand_ins.epytope(self.labelled, self.folder / "epytope")

    @cached_property
    def run(self) -> tuple[Path, Path]:
        """Cells and receptors of the labelled table, as a run writes them."""
        paths = self.folder / "cells.parquet", self.folder / "receptors.parquet"
        for table, path in zip(normalised(self.vdjdb, self.folder), paths, strict=True):
            tables.write(table, path)
        return paths

    @cached_property
    def reference(self) -> Path:
        """The folder of a calibrated reference of annotation."""
        cells, receptors = map(str, self.run)
        folder = self.folder / "calibration"  # it writes a table `receptors` of its own
        words = ["--cells", cells, "--receptors", receptors, "--background-receptors", "1000"]
        calibrate_annotation.main([*words, "--threads", "1", "--outdir", str(folder)])
        return folder / "reference"

    @cached_property
    def repository(self) -> Path:
        """A repository whose ``make demo`` takes no time."""
        folder = self.folder / "repository"
        folder.mkdir()
        (folder / "Makefile").write_text(MAKEFILE)
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        for words in (["init", "--quiet"], ["add", "Makefile"], [*author, "commit", "--quiet", "-m", "a"]):
            subprocess.run(["git", "-C", str(folder), *words], check=True)
        return folder

    def named(self, word: str) -> str:
        """Return a word of a command, with the path of the input that it names in capitals."""
        name, slash, rest = word.partition("/")
        paths: dict[str, Callable[[], Path]] = {
            "CELLS": lambda: self.run[0],
            "CONTIGS": lambda: CONTIGS,
            "DASH": lambda: DASH,
            "EPYTOPE": lambda: Path(os.path.relpath(self.epytope)),
            "FOLDER": lambda: self.folder,
            "IMMREP22": lambda: Path(os.path.relpath(self.immrep22)),
            "RECEPTORS": lambda: self.run[1],
            "REFERENCE": lambda: self.reference,
            "REPORT": lambda: self._written("report.html", REPORT),
            "REPOSITORY": lambda: self.repository,
            "PLAN": lambda: self._written("plan.tsv", PLAN),
            "TRACE": lambda: self._written("trace.txt", TRACE),
            "VDJDB": lambda: Path(os.path.relpath(self.vdjdb)),  # as in the documented commands
        }
        return f"{paths[name]()}{slash}{rest}" if name in paths else word

    def _written(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path
