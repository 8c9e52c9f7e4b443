"""Stubs, profiles, selectors, and Nextflow's strict syntax."""

import subprocess
from pathlib import Path

import pytest
from pipeline_runs import NEXTFLOW, ROOT, environment, run_pipeline
from test_learning import LEARNING

ANALYSES = {"ANALYSE_GENERATION", "ANALYSE_RECEPTORS", "ANALYSE_RESULTS"}
REPERTOIRE = {"EMBED_BACKGROUND", "CLUSTER_RECEPTORS", "COMPARE_SAMPLES", "COMPARE_CONDITIONS"}


# Stands in for conda.
CONDA = """\
#!/usr/bin/env bash
set -eu
here=$(dirname "$(readlink -f "$0")")
if [[ $1 == info ]]; then
    printf '{\\n  "conda_prefix": "%s"\\n}\\n' "$here"
    exit
fi
while [[ $# -gt 0 ]]; do
    if [[ $1 == --prefix ]]; then mkdir -p "$2"; fi
    if [[ $1 == --file ]]; then echo "$2" >> "$here/made.txt"; fi
    shift
done
"""


@pytest.fixture
def conda(tmp_path):
    """A folder with a `conda` that only notes the files that environments are made of, in made.txt."""
    programs = tmp_path / "programs"
    (programs / "bin").mkdir(parents=True)
    (programs / "conda").write_text(CONDA)
    (programs / "conda").chmod(0o755)
    (programs / "bin/activate").write_text("")
    return programs


@pytest.mark.parametrize(
    ("profile", "env"),
    [("test,conda", {}), ("test", {"AIRRVEC_NEXTFLOW": "25.04.4", "NXF_SYNTAX_PARSER": "v2"})],
    ids=["24.10 with conda", "25.04 with strict syntax"],
)
def test_stub_run_of_everything(tmp_path, conda, profile, env):
    asked = ("--export_sce", "--analyses", "all", "--cluster", "--compare", "--compare_by", "condition")
    asked += ("--pretrain", "synthetic", "--synthetic_receptors", "100001", "--finetune")
    path = f"{conda}:{environment()['PATH']}"
    run = run_pipeline(tmp_path, "-profile", profile, "-stub", *asked, PATH=path, **env)
    assert run.status == 0, run.output
    exported = {"CHECK_R", "EXPORT_SCE", "DESCRIBE_GAMMA_DELTA"}  # stubs have γδ cells
    assert run.processes == {*LEARNING, *ANALYSES, *REPERTOIRE, *exported}
    assert sum("SYNTHESISE" in task["name"] for task in run.tasks) == 2
    assert {path.stem for path in (run.results / "r").iterdir()} == {
        *("a", "b", "labelled", "all_samples", "match_barcodes")
    }
    # The pinned 25.04 has no list of the options of `process`, and warns of each.
    known = ("Unrecognized config option 'process.", "--compare_by condition: nothing will be tested")
    assert [text for text in run.warnings if not any(words in text for words in known)] == []
    if "conda" in profile:
        # Nextflow makes environments of the same content once.
        made = {Path(line).read_text() for line in (conda / "made.txt").read_text().split()}
        modules = [ROOT / "modules/local" / name.lower() for name in run.processes]
        assert made == {(module / "environment.yml").read_text() for module in modules}


def test_a_selector_that_matches_nothing_would_be_seen(tmp_path):
    """The check of `warnings` in the other tests can fail."""
    (tmp_path / "bad.config").write_text("process { withName: 'NO_SUCH_PROCESS' { cpus = 1 } }\n")
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--skip_map", "-stub", "-c", "bad.config")
    assert any("NO_SUCH_PROCESS" in warning for warning in run.warnings)


@pytest.mark.parametrize(
    ("profile", "settings"),
    [
        ("podman", ["podman.enabled = true", "container = 'ghcr.io/airrvec/airrvec:0.1.0'"]),
        ("singularity", ["singularity.enabled = true", "container = 'ghcr.io/airrvec/airrvec:0.1.0'"]),
        ("conda", ["conda.enabled = true"]),
        (
            "docker,arm",
            ["docker.enabled = true", "docker.runOptions = '-u $(id -u):$(id -g) --platform linux/arm64'"],
        ),
        ("slurm", ["executor = 'slurm'"]),
        ("gpu", ["device = 'gpu'", "accelerator = 1"]),
        ("test_full", ["benchmark_chains = 'paired,alpha,beta'", "config_profile_name = 'test_full'"]),
    ],
)
def test_profile_resolves(tmp_path, profile, settings):
    shown = subprocess.run(
        [str(NEXTFLOW), "config", "-flat", "-profile", profile, str(ROOT)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    for setting in settings:
        assert setting in shown.stdout
