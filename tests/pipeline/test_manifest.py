"""The manifest of a real run, and `airrvec verify`, which finds every change of its results."""

import csv
import hashlib
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from airrvec.app import manifest
from airrvec.app.verify import file_problems

import pyarrow.parquet as pq
import pytest
from pipeline_runs import ROOT, TIMES, run_pipeline
from test_run import SAMPLES

# What holds times, the crate's copy of the workflow, and the manifest itself.
NOT_LISTED = rf"{TIMES.pattern}|pipeline_info/(main\.\w+|manifest\..+|\.announced\.txt)"
N_CHANGES, N_WHOLE = 1000, 10


def rows_of(results) -> dict[str, dict]:
    with (results / manifest.MANIFEST).open(newline="") as handle:
        return {row["path"]: row for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)}


def verified(results, folder=ROOT) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "bin/airrvec"), "verify", str(results)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_manifest_lists_every_published_file_and_every_input(real_run):
    rows = rows_of(real_run.results)
    found = {
        str(path.relative_to(real_run.results)) for path in real_run.results.rglob("*") if path.is_file()
    }
    listed = {path for path, row in rows.items() if row["kind"] == "result"}
    assert listed == {path for path in found if not re.fullmatch(NOT_LISTED, path)}
    assert {path for path, row in rows.items() if row["kind"] == "input"} == {
        *("pbmc_a.csv.gz", "pbmc_b.csv"),  # as the samplesheet names them
        *(str(ROOT / "assets" / name) for name in ("test/samplesheet.csv", "demo/dash_human.csv")),
    }
    for path in listed:
        content = (real_run.results / path).read_bytes()
        assert rows[path]["sha256"] == hashlib.sha256(content).hexdigest()
        assert int(rows[path]["size"]) == len(content)
    done = subprocess.run(
        ["sha256sum", "-c", manifest.CHECKSUM.name], cwd=real_run.results / "pipeline_info", check=False
    )
    assert done.returncode == 0


def test_rows_schemas_processes_and_code_are_those_of_the_tasks(real_run):
    rows = rows_of(real_run.results)
    inputs = {row["sample"]: int(row["rows"]) for row in rows.values() if row["sample"]}
    assert inputs == SAMPLES
    for path, row in rows.items():
        if row["kind"] == "result" and path.endswith(".parquet") and not path.startswith("multiqc"):
            assert int(row["rows"]) == pq.read_metadata(real_run.results / path).num_rows
            assert re.fullmatch(r"[0-9a-f]{16}", row["schema"])
    assert len({rows[f"cells/{sample}.parquet"]["schema"] for sample in SAMPLES}) == 1
    assert rows["cells/a.parquet"]["schema"] != rows["chains/a.parquet"]["schema"]
    made = {row["process"] for row in rows.values()} - {""}
    assert made == real_run.processes - {"EMBED_RECEPTORS", "DESCRIBE_CELLS", "BENCHMARK_FEWSHOT"}
    codes = {(row["process"], row["code"]) for row in rows.values() if row["process"]}
    assert len(codes) == len(made) == len({code for _, code in codes})
    assert all(re.fullmatch(r"[0-9a-f]{64}", code) for _, code in codes)
    text = (real_run.results / "pipeline_info/software_versions.yml").read_text()
    assert "#" not in text  # records stay out of what people read


def test_a_real_run_is_verified_in_one_line(real_run):
    done = verified(real_run.results)
    assert done.returncode == 0, done.stdout
    assert re.fullmatch(
        rf"{real_run.results}: \d+ files and 4 inputs are as the run wrote and read them \(.*\);"
        r" 26 relations between the tables hold\n",
        done.stdout,
    )


def test_every_one_of_1000_changed_bytes_is_found(real_run, tmp_path):
    """
    Of every kind of file, at any place, to any other value.

    Each is looked for in the changed file alone; for some of them the whole verb runs.
    """
    results = tmp_path / "results"
    shutil.copytree(real_run.results, results)
    rows = {row.path: row for row in manifest.read_manifest(results)[0] if row.kind == "result"}
    paths = [*sorted(rows), str(manifest.MANIFEST), str(manifest.CHECKSUM)]
    draw, n_found, whole = random.Random(20), 0, []  # noqa: S311 - no secret
    for number in range(N_CHANGES):
        name = draw.choice(paths)
        path = results / name
        content = path.read_bytes()
        place = draw.randrange(len(content))
        value = draw.choice([other for other in range(256) if other != content[place]])
        path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
        if name in rows:
            problems = list(file_problems(path, rows[name]))
        else:
            problems = manifest.read_manifest(results)[1]
        n_found += bool(problems)
        if number % (N_CHANGES // N_WHOLE) == 0:
            done = verified(results)
            whole.append(done.returncode == 1 and name in done.stdout)
        path.write_bytes(content)
    assert n_found == N_CHANGES
    assert whole == [True] * N_WHOLE
    assert verified(results).returncode == 0


@pytest.mark.parametrize("mode", ["symlink"])
def test_a_published_file_that_its_task_did_not_write_is_an_error(tmp_path, mode):
    """A file that changes after its task has recorded it, here by a command behind the script."""
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    (tmp_path / "changed.config").write_text(
        "process { withName: DESCRIBE_SAMPLES { afterScript = 'echo more >> largest_clones.tsv' } }\n"
    )
    (tmp_path / "report.yml").write_text("report_comment: ours\n")
    options = ("--input", "samples.csv", "--skip_map", "--publish_dir_mode", mode)
    options += ("--multiqc_config", "report.yml")
    run = run_pipeline(tmp_path, *options, "-c", "changed.config")
    assert run.status == 1
    assert "ERROR" in run.log
    assert run.output.count("is not what a task of this run wrote") == 1
    assert "samples/largest_clones.tsv in the results is not what a task of this run wrote" in run.output
    # A resumed run would take the damaged file from the cache.
    (told,) = re.findall(r"changed; delete (\S+) and run again with -resume", run.output)
    assert (Path(told) / "largest_clones.tsv").exists()
    assert "could not be written" not in run.output
    done = verified(run.results, tmp_path)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("samples/largest_clones.tsv: differs from what the run wrote (")
    for name in ("samples.csv", "report.yml"):
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert rows_of(run.results)[name]["sha256"] == digest


def test_a_file_that_changes_after_it_was_published_is_an_error(tmp_path):
    """Of a task that records its files, of MultiQC, and one that no task made."""
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    names = ("receptors/receptors.parquet", "multiqc/multiqc_report.html", "cells/none.parquet")
    changes = "; ".join(f"new File('{tmp_path}/results/{name}') << 'x'" for name in names)
    (tmp_path / "changed.config").write_text(f"workflow.onComplete = {{ {changes} }}\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--skip_map", "-c", "changed.config")
    said = set(re.findall(r"(\S+) in the results is not what a task of this run wrote", run.output))
    assert run.status == 1
    assert said == set(names[:2])
    assert run.output.count("changed; run again with -resume") == 2
    done = verified(run.results, tmp_path)
    assert done.returncode == 1
    lines = {line.split(" (")[0] for line in done.stdout.splitlines()}
    assert lines == {
        *(f"{name}: differs from what the run wrote" for name in names[:2]),
        "receptors/receptors.parquet: the Parquet file is damaged: it cannot be read",
        "cells/none.parquet: left over: not in pipeline_info/manifest.tsv",
    }
    # The next run publishes its own files anew.
    (run.results / names[2]).unlink()
    again = run_pipeline(tmp_path, "--input", "samples.csv", "--skip_map", "-resume")
    assert "is not what a task" not in again.output
    assert verified(again.results, tmp_path).returncode == 0


def test_a_run_that_fails_leaves_no_manifest(tmp_path):
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    (tmp_path / "fails.config").write_text("process { withName: REPORT { beforeScript = 'exit 1' } }\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "-stub", "-c", "fails.config")
    assert run.status == 1
    assert not (run.results / manifest.MANIFEST).exists()
    assert "Give the --outdir of a run that got as far as its report" in verified(run.results).stderr
