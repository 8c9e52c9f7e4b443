"""The modules of `modules/airrvec` in another pipeline, with nothing of airrvec but the installed wheel."""

import os
import re
import shutil
import subprocess

from airrvec.core import tables

import pytest
import yaml

from conftest import ROOT

PIPELINE = """
include { AIRRVEC_NORMALISE } from './modules/airrvec/normalise/main'
include { AIRRVEC_EMBED     } from './modules/airrvec/embed/main'

workflow {
    input = channel.of([[id: 'dash'], file(params.table)])
    AIRRVEC_NORMALISE(input)
    AIRRVEC_EMBED(input, 'sceptr')
}
"""
CONFIG = """
process {
    publishDir = [path: params.outdir, mode: 'copy']
    withName: AIRRVEC_EMBED { ext.prefix = { "${meta.id}_vectors" } }
}
"""
MODULES = sorted(path.parent.name for path in (ROOT / "modules/airrvec").glob("*/main.nf"))


@pytest.fixture
def pipeline(tmp_path):
    """Return a folder with a pipeline that copied the modules."""
    shutil.copytree(ROOT / "modules/airrvec", tmp_path / "modules/airrvec")
    (tmp_path / "main.nf").write_text(PIPELINE)
    (tmp_path / "nextflow.config").write_text(CONFIG)
    return tmp_path


def run(folder, bin_folder, *options) -> dict[str, int]:
    """Run the pipeline; return the sizes of what it published."""
    variables = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "NXF_ANSI_LOG": "false"}
    variables.pop("PYTHONPATH", None)
    table = ROOT / "assets/demo/dash_human.csv"
    command = [ROOT / "containers/nextflow/nextflow", "run", "main.nf", "--table", table, *options]
    done = subprocess.run(list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    outdir = folder / options[options.index("--outdir") + 1]
    return {
        str(path.relative_to(outdir)): path.stat().st_size for path in outdir.rglob("*") if path.is_file()
    }


def test_two_modules_in_another_pipeline(pipeline, installed):
    stubs = run(pipeline, installed.bin, "-stub-run", "--outdir", "stub")
    assert set(stubs.values()) == {0}
    assert {"dash/dash_human.cells.parquet", "dash_vectors.parquet"} <= set(stubs)

    made = run(pipeline, installed.bin, "--outdir", "out")
    assert {*stubs} <= {*made} | {"dash/dash_human.chains.parquet"}
    vectors = tables.read(pipeline / "out/dash_vectors.parquet")
    receptors = tables.read(pipeline / "out/dash/dash_human.receptors_0000.parquet")
    assert (len(vectors), len(vectors.column_names)) == (391, 65)
    assert set(vectors["receptor_id"].to_pylist()) == set(receptors["receptor_id"].to_pylist())
    versions = yaml.safe_load((pipeline / "out/versions.yml").read_text())
    assert list(versions.values()) == [{"airrvec": "0.1.0"}]


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_declares_is_what_it_has(name):
    """The channels of meta.yml are those of main.nf, in their order."""
    text = (ROOT / f"modules/airrvec/{name}/main.nf").read_text()
    meta = yaml.safe_load((ROOT / f"modules/airrvec/{name}/meta.yml").read_text())
    assert list(meta["output"]) == re.findall(r"emit: (\w+)", text)
    inputs = text.split("input:")[1].split("output:")[0]
    declared = [part for entry in meta["input"] for part in (entry if isinstance(entry, list) else [entry])]
    assert [next(iter(part)) for part in declared] == re.findall(r"\b(?:val|path)[ (](\w+)", inputs)
