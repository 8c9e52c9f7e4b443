"""Lines of progress: from each phase of each long script, also while compiled code runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from airrvec.core import progress, tables

import pytest
from inputs import ROOT
from planted_repertoires import plant

import annotate_receptors
import calibrate_annotation
import cluster_receptors
import compare_conditions
import compare_samples
import describe_clones
import describe_samples
import embed_background
import map_receptors
import place_receptors

ALL, NEVER = 0.0, 1000.0  # seconds between lines: all of them, and none

REPERTOIRES = (
    *("vectors of receptors", "background receptors", "radius of neighbours", "reading repertoires"),
    "neighbours within the radius",
)
PHASES = {
    calibrate_annotation: (
        *("background receptors", "references", "vectors of receptors", "training of the scorer"),
        "comparison of background receptors with references",
        "comparison of labelled receptors with those of other studies",
    ),
    annotate_receptors: ("reading the reference", "receptors annotated", "table of s1"),
    embed_background: REPERTOIRES,
    cluster_receptors: (
        *(*REPERTOIRES, "Leiden communities", "table of clusters"),
        *("generation probabilities", "table of members", "logos"),
    ),
    compare_samples: (
        *REPERTOIRES,
        "pairs of samples tested",
        *("vectors of samples", "public receptors"),
    ),
    describe_samples: ("gene usage", "diversity of samples", "rarefaction curves"),
    compare_conditions: ("measures of samples", "tests of conditions", "sets of features tested"),
    place_receptors: ("places on the map",),
    map_receptors: ("content of the map", "page of the map"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    plant(folder)
    for path in (folder / "cells").iterdir():
        name = tables.sample_name(path)
        receptors = tables.read(folder / "run/receptors.parquet")
        tables.write(receptors, folder / f"receptors/{name}.receptors_0000.parquet")
    return folder


def words(script, folder: Path) -> list[str]:
    """Options of a script for planted repertoires."""
    cells = sorted((folder / "cells").iterdir())
    receptors = ["--receptors", folder / "run/receptors.parquet"]
    vectors = ["--embeddings", folder / "run/vectors.parquet"]
    background = ["--background", folder / "background.parquet"]
    labelled = ["--cells", folder / "labelled.cells.parquet"]
    clones = folder / "clones"
    repertoires = [
        "--clones",
        clones,
        *receptors,
        *vectors,
        "--cluster-chance",
        0.02,
    ]
    given = {
        calibrate_annotation: [*labelled, *receptors, "--background-receptors", 3000],
        annotate_receptors: [
            *("--sample", "s1", "--cells", cells[0], *receptors, *vectors),
            *("--reference", folder / "calibrate_annotation/reference"),
        ],
        cluster_receptors: ["--cells", *cells, *repertoires, *background],
        embed_background: [*repertoires, *background],
        compare_samples: [*repertoires, *background],
        describe_samples: ["--clones", clones],
        describe_clones: ["--clones", clones],
        compare_conditions: [
            *("--clones", clones, "--described", folder / "describe_samples"),
            *("--table", folder / "describe_clones/clones.parquet", "--compare-by", "treatment"),
        ],
        place_receptors: vectors,
        map_receptors: [
            *("--cells", *cells, *receptors, *vectors, "--page", ROOT / "assets/report"),
            *("--places", folder / "place_receptors/map.parquet"),
        ],
    }
    return [str(word) for word in given[script]]


@pytest.mark.parametrize("script", PHASES, ids=[script.__name__ for script in PHASES])
def test_each_phase_of_a_long_script_has_lines_and_they_change_no_result(
    script, folder, tmp_path, monkeypatch, capfd
):
    reference = folder / calibrate_annotation.__name__
    if script is annotate_receptors and not reference.exists():  # the order of tests is random
        calibrate_annotation.main([*words(calibrate_annotation, folder), "--outdir", str(reference)])
    described = folder / describe_samples.__name__
    if script is compare_conditions and not described.exists():
        describe_samples.main([*words(describe_samples, folder), "--outdir", str(described)])
    named = folder / describe_clones.__name__
    if script is compare_conditions and not named.exists():
        describe_clones.main([*words(describe_clones, folder), "--outdir", str(named)])
    placed = folder / place_receptors.__name__
    if script is map_receptors and not placed.exists():
        place_receptors.main([*words(place_receptors, folder), "--outdir", str(placed)])
    results = {}
    for every, outdir in ((ALL, folder / script.__name__), (NEVER, tmp_path / "silent")):
        monkeypatch.setattr(progress, "EVERY", every)
        script.main([*words(script, folder), "--outdir", str(outdir)])
        lines = capfd.readouterr().err
        files = [path for path in sorted(outdir.rglob("*")) if path.is_file()]
        results[every] = {path.relative_to(outdir): path.read_bytes() for path in files}
        silent = [phase for phase in PHASES[script] if phase not in lines]
        assert bool(silent) == (every == NEVER), silent
    assert results[ALL] == results[NEVER]


def process(code: str, every: float) -> subprocess.Popen:
    """Run lines of Python in a script with progress; its standard input is a pipe from here."""
    lines = [
        "import ctypes, sys, time",
        "from airrvec.core import progress",
        f"progress.EVERY = {every}",
        "with progress.reported('script'):",
        *(f"    {line}" for line in code.splitlines()),
    ]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "bin")}
    given = [sys.executable, "-c", "\n".join(lines)]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(given, env=variables, text=True, **pipes)


def lines_until(running: subprocess.Popen, name: str) -> list[str]:
    """Wait for a line of this step, then let the script end: its lines up to then."""
    lines = []
    for line in running.stderr:
        lines.append(line)
        if line.startswith(f"{name}: "):
            break
    running.communicate()
    assert lines[-1].startswith(f"{name}: "), lines
    return lines


def test_compiled_code_that_holds_the_lock_is_reported():
    """`ctypes.PyDLL` calls without releasing the interpreter's lock: here until the input ends."""
    held = "with progress.step('held'):\n    ctypes.PyDLL(None).read(0, ctypes.create_string_buffer(1), 1)"
    lines_until(process(held, 0.1), "held")


def test_a_name_of_the_input_is_no_command_for_the_terminal():
    running = process("with progress.step('a\\x1b[31m\\nb'):\n    sys.stdin.read()", 0.1)
    assert "\x1b" not in "".join(lines_until(running, "a\\x1b[31m\\nb"))


def test_a_counter_that_prints_is_enough():
    """A line of the script itself only before the first count is due, and where the machine stood still."""
    code = (
        "count, moments = progress.counter('things', 10), [time.monotonic()]\n"
        "for _ in range(10): time.sleep(0.05); count(1); moments.append(time.monotonic())\n"
        "still = sum(after - before > 0.15 for before, after in zip(moments, moments[1:]))\n"
        "print('still', still, file=sys.stderr)"
    )
    *lines, last = process(code, 0.2).communicate()[1].splitlines()
    assert sum("things" not in line for line in lines) <= 1 + int(last.removeprefix("still "))
    assert lines[-1].startswith("10 of 10 things (100 %)")


def test_the_last_line_follows_the_end_of_steps():
    code = "with progress.step('outer'):\n    with progress.step('inner'): pass\n    sys.stdin.read()"
    lines_until(process(code, 0.1), "outer")


def test_a_killed_script_leaves_no_process():
    """The heartbeat holds standard error, which is read to its end here."""
    killed = process("sys.stdin.read()", 0.1)
    assert killed.stderr.readline().startswith("script: ")
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)


def test_without_a_further_process_there_is_no_progress(monkeypatch):
    def refuse(*_, **__):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    done = []
    with progress.reported("script"), progress.step("step"):
        done.append(1)
    assert done == [1]


def test_an_error_of_a_step_is_that_of_the_script():
    with pytest.raises(KeyError), progress.reported("script"), progress.step("step"):
        raise KeyError("x")
    assert progress._steps == []
    assert progress._process is None
