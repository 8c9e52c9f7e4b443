"""
Every benchmark runs on small real data, and writes results of the right form; its speed is not asserted.

A program without an entry in `ENTRIES` fails `test_every_benchmark_has_an_entry`.
"""

import importlib
import json
import logging
import os
import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import airrvec  # noqa: F401  before numpy, as in the scripts

import numba  # noqa: F401  before a benchmark limits its threads, which differ
import pytest

import browser
from benchmarks.common import results
from benchmarks.common.small_material import Material

HERE = Path(__file__).parent
# A program and its options, in text or in a block, over continued lines.
COMMAND = re.compile(r"python benchmarks/([\w/]+\.py)((?:\\\n|[^\n`#|])*)")


@dataclass(frozen=True)
class Entry:
    """
    How a benchmark is run, and what its figures must satisfy; or why it is not run.

    Words in capitals are inputs of `Material`.
    """

    words: str = ""
    check: Callable[[dict], object] = bool
    why_not: str = ""


# --- What the figures must satisfy


def annotation(figures: dict) -> None:
    (trial,) = figures["trials"]
    assert {row["score"] for row in trial["scores"]} == {"SCEPTR", "sum", "all"}
    assert all(row["calls"] == row["false"] + row["right"] for row in trial["claims"])
    assert all(0 <= row["ap"] <= 1 for row in trial["scores"])


def suspect_labels(figures: dict) -> None:
    rows = figures["suspects"]
    assert [(row["split"], row["left_out"]) for row in rows] == [
        (split, name)
        for split in ("time", "studies")
        for name in ("none", "contradicted", "sorted together", "both")
    ]
    unchanged = [row for row in rows if row["left_out"] == "none"]
    assert all(row[f"ap_change_{end}"] in (0, None) for row in unchanged for end in ("low", "high"))
    assert all(row["references_left_out"] == 0 for row in unchanged)
    assert all(row["calls_20"] >= row["calls_10"] >= row["calls_5"] for row in rows)


def donor_hla(figures: dict) -> None:
    rows = figures["all"]["calls"]
    assert {row["hla"] for row in rows} == {"without", "with", "one field"}
    assert all(row["calls"] >= row["false"] >= row["of_background"] for row in rows)
    assert figures["all"]["typings"] == figures["full"]["typings"] == 1


def public_splits(figures: dict) -> None:
    assert [row["split"] for row in figures["measures"]] == ["time", "study"]
    assert all(0 <= row["ap"] <= 1 and row["ap_low"] <= row["ap_high"] for row in figures["measures"])
    assert len(figures["claims"]) == 2 * 3 * 3
    assert all(row["calls"] >= row["false"] >= row["background"] for row in figures["claims"])


def background_size(figures: dict) -> None:
    rows = [row for part in figures.values() for row in part]
    assert {(row["chains"], row["tail"], row["size"]) for row in rows} == {
        (chains, tail, size)
        for chains in ("paired", "beta")
        for tail in ("counted", "exponential")
        for size in (300, 600)
    }
    assert all(0 <= row["observed"] <= 1 for row in rows if row["observed"] is not None)


def tuned_evidence(figures: dict) -> None:
    assert {row["split"] for row in figures["gains"]} == {"time", "study"}
    assert all(row["low"] <= row["high"] for row in figures["gains"] if row["low"] is not None)
    assert all(row["gain"] == row["with"] - row["without"] for row in figures["gains"])


def annotation_peers(figures: dict) -> None:
    values = {(row["method"], row["fold"], row["measure"]): row["value"] for row in figures["figures"]}
    methods = {method for method, *_ in values}
    assert methods == {"airrvec", "TCRdist, nearest reference", "exact match"}
    assert all(values[method, "pooled", "n_queries"] == values[method, 0, "n_queries"] for method in methods)
    assert all(values[method, 0, "n_queries"] >= values[method, 0, "n_reachable"] for method in methods)


def counting(figures: dict) -> None:
    assert [row["script"] for row in figures["counting"]] == ["count_clones", "describe_clones"]
    assert all(0 < row["clones"] <= 2 * 2000 for row in figures["counting"])
    assert all(row["memory_MB"] > 10 for row in figures["counting"])


def hla(figures: dict) -> None:
    assert [row["least"] for row in figures["ways"]] == [4, 3]
    assert all(row["n_5"] <= row["n_10"] <= row["tested"] for row in figures["ways"])
    assert all(row["shuffled_5"] >= row["any_5"] for row in figures["ways"])


def joining(figures: dict) -> None:
    assert 200 < figures["paired"] < figures["cells"]
    assert {row["left"] for row in figures["joining"]} == {"α alone", "β alone"}
    assert all(row["hidden"] == row["right"] + row["wrong"] + row["alone"] for row in figures["joining"])
    assert sum(row["right"] for row in figures["joining"]) > 0


def changes(figures: dict) -> None:
    ways = {(row["group"], row["way"]): row for row in figures["ways"]}
    assert len(ways) == 4 * (4 if results.installed("vdjtools") else 3)
    named = [row for (_, way), row in ways.items() if way == "airrvec, replicates"]
    assert all(row["called"] <= 0.05 * row["tested"] for row in named)
    assert ways["simulated cells", "airrvec, no replicates"]["found_share"] > 0.7


def clustering(figures: dict) -> None:
    assert figures["receptors"] > 300
    assert figures["epitopes"] == 3
    assert {"TCRdist", "SCEPTR"} <= {row["distances"] for row in figures["clusters"]}
    assert all(2 * row["clusters"] <= figures["receptors"] for row in figures["clusters"])
    assert all(
        row["largest"] <= row["retention"] * figures["receptors"] + 1e-6 for row in figures["clusters"]
    )


def embedding_speed(figures: dict) -> None:
    ways = {row["way"]: row for row in figures["ways"]}
    assert {"airrvec", "sceptr", "matrix products alone"} <= set(ways)
    assert ways["sceptr"]["times_sceptr"] == 1
    assert all(row["receptors_a_second"] > 0 for row in ways.values())
    assert len(figures["models"]) == 5
    assert [row["receptors"] for row in figures["growth"]] == [100]
    assert {"reading Parquet", "the model"} <= {row["step"] for row in figures["steps"]}


def embedding_accuracy(figures: dict) -> None:
    first, *rest = figures["ways"]
    assert first["way"] == "sceptr"
    assert first["largest_distance"] == first["other_neighbour"] == first["auroc_difference"] == 0
    assert all(row["largest_distance"] < 1e-5 for row in rest if row["way"].endswith("fp32"))


def find_speed(figures: dict) -> None:
    rows = {row["what"]: row for row in figures["commands"]}
    assert rows["find, OLGA"]["recall"] == 1  # a small index is compared as a whole
    assert {"index", "index again", "index --check", "find one"} <= set(rows)
    assert figures["index_GB"] > 0


def gpu(figures: dict) -> None:
    failed = {
        name: part["error"] for name, part in figures.items() if isinstance(part, dict) and "error" in part
    }
    assert not failed
    assert figures["cuda_tests"]["tests"] > 0
    assert [row["precision"] for row in figures["vectors"]["models"]] == ["fp32", "tf32", "bf16"]
    assert figures["sharing"]["largest_distance"] < 1e-5
    embedding = figures["memory"]["embedding"]
    assert embedding["largest_batch"] < embedding["requested"]
    assert figures["memory"]["training"]["notes"]
    assert {"airrvec, fp32", "airrvec, tf32", "airrvec, bf16"} <= {
        row["way"] for row in figures["speed"]["ways"]
    }
    assert [row["steps"] for row in figures["pretraining"]["points"]][-2:] == [0, 2]
    assert all(0 <= row["mean"] <= 1 for row in figures["pretraining"]["points"])
    assert {row["model"] for row in figures["fine_tuning"]["aurocs"]} >= {"sceptr", "sceptr_neighbour"}


def nextflow_overhead(figures: dict) -> None:
    assert figures["tasks"] == 3
    assert (figures["wall_s"], figures["tasks_s"], figures["without_task_s"]) == (6, 5, 1)


def nextflow_start(figures: dict) -> None:
    (now,) = figures["start"]
    assert now["state"] == "now"
    assert now["processor_s"] > 1


def small_run(figures: dict) -> None:
    assert [(row["state"], row["run"]) for row in figures["runs"]] == [("now", "first"), ("now", "further")]
    assert all(row["processor_s"] > 1 for row in figures["runs"])


def plans(figures: dict) -> None:
    """Of a plan and a trace whose first process took twice the plan, and whose second has no time in it."""
    assert [row["ratio"] for row in figures["runs"]] == [0.5, None, 1.25]
    assert figures["processes"][0] == {"process": "A", "small_planned_s": 0.75, "small_run_s": 1.5}
    assert (figures["within_two"], figures["planned"], figures["not_planned"]) == (2, 2, ["B"])


def recipes(figures: dict) -> None:
    kinds = {row["split"] for row in figures["gains"]}
    assert kinds == {"time", "study"}
    assert not any(row["problem"] for row in figures["trainings"])
    assert len(figures["trainings"]) == 2 * 3  # splits, and the start and two recipes
    for row in figures["gains"]:
        assert row["seeds"] == 1
        assert row["low"] <= row["high"]
        assert row["difference"] == pytest.approx(row["after"] - row["before"])
        if row["recipe"].startswith("not trained") and row["variant"] == "alone":
            assert row["difference"] == row["low"] == row["high"] == 0
    default, other = (
        [row for row in figures["variants"] if row["recipe"] == recipe]
        for recipe in ("neighbour (default)", "both losses, all layers")
    )
    assert len(default) == len(other) == 4
    assert default[0]["time_over_tuned_difference"] == default[0]["time_over_default_high"] == 0
    for row in (*default, *other):
        tuned = default[0]["time_after"]
        assert row["time_over_default_difference"] == pytest.approx(row["time_after"] - tuned)
    assert all(part["epitopes"] and part["test_studies"] for part in figures["splits"])


def immrep22(figures: dict) -> None:
    (mean,) = figures["mean"]
    assert mean["without_training_file"] == "NLVPMVATV"
    assert (mean["positives"], mean["negatives"], mean["removed"]) == (40, 80, 40)
    assert mean["as_published"] > mean["left"] > 0.9
    assert [row["best_peer"] for row in figures["epitopes"]] == ["method B", "method A"]
    published = {row["method"]: (row["mean"], row["epitopes"]) for row in figures["methods"]}
    assert published["method A"] == (0.5625, 2)
    assert published["method B"] == (1, 1)
    assert all(row["own_left"] < row["own"] for row in figures["methods"] if row["method"] != "airrvec")
    assert {row["method"]: row["mean"] for row in figures["ranks"]}["method A"] == 1.25
    assert all(1 <= row["rank"] <= 2 for row in figures["ranks_of_epitopes"])


def epytope_viral(figures: dict) -> None:
    (test,) = figures["test"]
    assert (test["rows"], test["receptors"], test["removed"], test["left"]) == (36, 35, 17, 18)
    assert [row["left"] for row in figures["epitopes"]] == [6, 6, 6]
    assert all(row["auroc"] > 0.9 for row in figures["epitopes"])
    assert [row["method"] for row in figures["methods"]] == ["airrvec", "MixTCRpred", "ERGO"]
    assert [row["peer_better"] for row in figures["methods"]] == [None, 0, 0]
    assert [row["receptors"] for row in figures["recall"]] == [35, 18, 23, 12]
    assert [row["tool_first"] for row in figures["recall"]] == [None, None, 0.41, 0.41]
    assert all(row["first"] > 0.8 for row in figures["recall"])


def learned_rule(figures: dict) -> None:
    for name in ("rules", "tuned"):
        methods = figures[f"{name}_by_method"]
        assert len(figures[name]) == 2 * len(methods) == 2 * 7  # values of k; methods
        assert all(row["epitopes"] == 3 and 0 < row["auroc"] < 1 for row in figures[name])
        for k in (2, 5):
            rows = [row for row in figures[name] if row["k"] == k]
            best = max(row["auroc"] for row in rows[:3])
            for row, method in zip(rows, methods, strict=True):
                assert row["auroc"] == method[f"auroc_{k}"]
                assert row["difference"] == pytest.approx(row["auroc"] - best)
                assert row["low"] - 1e-9 <= row["difference"] <= row["high"] + 1e-9


def size(figures: dict) -> None:
    (run,) = figures["runs"]
    assert run["tasks"] == sum(row["tasks"] for row in run["processes"])
    assert {"NORMALISE_RECEPTORS", "EMBED_RECEPTORS", "REPORT"} <= {
        row["process"] for row in run["processes"]
    }


def nearest_peers(figures: dict) -> None:
    ours, *peers = figures["searches"]  # faiss, where it is installed
    assert (ours["program"], ours["ratio"]) == ("airrvec", 1)
    assert all(row["distances"] == pytest.approx(ours["distances"], rel=1e-4) for row in peers)


def tcrdist_speed(figures: dict) -> None:
    assert [row["program"] for row in figures["programs"]] == ["airrvec", "pyrepseq", "tcrdist3"]
    assert all(row["equal"] for row in figures["programs"])


def has_rows(name: str, n: int, **values) -> Callable[[dict], None]:
    """Return a check of the number of rows of a table, and of values that all of them have."""

    def check(figures: dict) -> None:
        assert len(figures[name]) == n
        assert all(row[key] == value for row in figures[name] for key, value in values.items())

    return check


NO_CHROMIUM = "" if browser.CHROMIUM else "no Chromium on the path"
NO_INTERFACES = "" if Path("/sys/class/net").exists() else "counts the bytes of Linux's interfaces"
ENTRIES = {
    "annotation/annotation.py": Entry(
        "--labelled VDJDB --seeds 1 --folds 1 --contrast 100 --background 300 --test 100", annotation
    ),
    "annotation/suspect_labels.py": Entry(
        "--labelled VDJDB --folds 1 --contrast 100 --background 300 --test 100 --draws 5 --cut 8",
        suspect_labels,
    ),
    "annotation/donor_hla.py": Entry(
        "--labelled VDJDB --folds 1 --background 1000 --test-background 100", donor_hla
    ),
    "annotation/public_splits.py": Entry(
        "--labelled VDJDB --seeds 1 --folds 1 --contrast 100 --background 300 --test 100 --draws 5 --cut 9",
        public_splits,
    ),
    "annotation/background_size.py": Entry(
        "--labelled VDJDB --contrast 100 --background 900 --sizes 300 600 --test 200 --samples 3",
        background_size,
    ),
    "annotation/tuned_evidence.py": Entry(
        "--labelled VDJDB --model last --beside --folds 1 --steps 2 --contrast 100 --background 300"
        " --test 100 --draws 5 --cut 9",
        tuned_evidence,
    ),
    "annotation_peers/annotation_peers.py": Entry(
        "--labelled VDJDB --folds 1 --draws 10 --methods airrvec tcrdist exact"
        " --contrast 100 --negatives 300 --background 100",
        annotation_peers,
    ),
    "annotation_peers/tcremp_encoder.py": Entry(
        why_not="an encoder, not a program; it needs mirpy-lib (GPL) in an environment of its own"
    ),
    "clones/joining.py": Entry("CONTIGS --repeats 1", joining),
    "clones/counting.py": Entry("--cells 2000 --donors 2 --receptors 300", counting),
    "changes/changes.py": Entry("--draws 1 --spiked 10 --clones 5000", changes),
    "clusters/clustering.py": Entry("CELLS RECEPTORS", clustering),
    "embedding/embedding_accuracy.py": Entry("DASH --k 20 --splits 2 --positives 20", embedding_accuracy),
    "embedding/embedding_speed.py": Entry(
        "DASH --receptors 50 --rounds 1 --growth 100 --steps 100 --scaled 50 100"
        " --only ways models steps growth",
        embedding_speed,
    ),
    "few_shot/learned_rule.py": Entry(
        "VDJDB --k 2 5 --splits 2 --positives 20 --negatives 20 --resamples 50 --steps 1"
        " --per-epitope 20 --folds 3",
        learned_rule,
    ),
    "find/find_speed.py": Entry(
        "--receptors 300 --queries 20 --background 500 --folder FOLDER/find", find_speed
    ),
    "gpu/gpu.py": Entry("DASH --device cpu --size small", gpu),
    "hla/hla.py": Entry("--donors 40 --shuffles 3", hla),
    "installing/first_report.py": Entry(
        "HEAD --repository REPOSITORY --again 1", has_rows("commits", 1, commit="HEAD"), NO_INTERFACES
    ),
    "installing/import_time.py": Entry(
        "export_airr --repeats 1", has_rows("scripts", 1, script="export_airr")
    ),
    "neighbours/neighbours_at_size.py": Entry(
        "--sizes 400 --chains beta --background 2000 --threads 1", has_rows("searches", 3)
    ),
    "neighbours/nearest_peers.py": Entry("--queries 300 --references 200 --k 3 --rounds 1", nearest_peers),
    "report/map_embedding.py": Entry(
        "--models sceptr_tiny --receptors 200 --timed 50", has_rows("maps", 1), NO_CHROMIUM
    ),
    "report/questions.py": Entry(why_not="tests/pipeline/test_demo.py runs it"),
    "report/report_in_browser.py": Entry("REPORT", has_rows("pages", 4, errors=0), NO_CHROMIUM),
    "scoreboard/epytope_viral.py": Entry(
        "EPYTOPE --labelled VDJDB --tables 01_beam-t_clones.csv 02_covid_dextramer_clones.csv", epytope_viral
    ),
    "scoreboard/immrep22.py": Entry("IMMREP22", immrep22),
    "size/peers_at_size.py": Entry(
        "--sizes 200 --threads 1 --methods airrvec 'pyrepseq, β'",
        has_rows("runs", 2, receptors=200, stopped=""),
    ),
    "size/size.py": Entry(
        "--receptors 40 --samples 2 --folder FOLDER/size --skip cluster compare airr anndata map -stub-run",
        size,
    ),
    "size/small_run.py": Entry("DASH --rounds 1 -stub-run", small_run),
    "speed/annotation_size.py": Entry(
        "REFERENCE --receptors 200 --threads 1 --folder FOLDER/annotated",
        has_rows("samples", 1, receptors=200),
    ),
    "speed/calibration_speed.py": Entry(
        "VDJDB --threads 1 --background-receptors 1000", has_rows("calibration", 3, threads=1)
    ),
    "speed/map_speed.py": Entry("300 --threads 1", has_rows("maps", 1, points=300)),
    "speed/neighbours_speed.py": Entry(
        "--queries 300 --references 200 --threads 1",
        lambda figures: figures["searches"][0]["mean_distance"] > 0,
    ),
    "speed/nextflow_start.py": Entry("--rounds 1", nextflow_start),
    "speed/nextflow_overhead.py": Entry("--trace TRACE", nextflow_overhead),
    "speed/normalising_speed.py": Entry("DASH --rows 200 --peer-rows 100", has_rows("peers", 3, rows=100)),
    "speed/plans.py": Entry("--run small PLAN TRACE", plans),
    "speed/r_speed.py": Entry(why_not="it needs R with airrvecr and arrow, and the results of a run"),
    "speed/rarefaction.py": Entry("1000", has_rows("samples", 1, receptors=1000)),
    "speed/scoring_speed.py": Entry(
        "CELLS RECEPTORS --encoders sceptr,tcrdist --k 1 5 --splits 2 --threads 1", has_rows("encoders", 2)
    ),
    "speed/tcrdist_speed.py": Entry("DASH --receptors 60 --repeats 1 --threads 1", tcrdist_speed),
    "training/finetuning.py": Entry(why_not="gpu/gpu.py runs it"),
    "training/pretraining_curve.py": Entry(why_not="gpu/gpu.py runs it"),
    "training/recipes.py": Entry(
        "VDJDB --device cpu --jobs 1 --seconds 500 --seeds 1"
        " --recipes 'neighbour (default)' 'both losses, all layers' --cut 18 --per-epitope 20"
        " --min-train 10 --min-test 5 --min-receptors 25 --further 5 --resamples 50"
        " --max-steps 1 --max-batch 12",
        recipes,
    ),
    "training/training_speed.py": Entry(
        "--batch-size 16 --steps 1 --receptors 64 --threads 1", has_rows("ways", 2)
    ),
}


@pytest.fixture(scope="session")
def material(tmp_path_factory) -> Material:
    return Material(tmp_path_factory.mktemp("material"))


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    """Undo what programs change for themselves: the environment and the logging."""
    before = dict(os.environ)
    yield
    logging.disable(logging.NOTSET)
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def test_every_benchmark_has_an_entry():
    programs = {str(path.relative_to(HERE)) for path in HERE.glob("*/*.py") if path.parent.name != "common"}
    assert programs == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_benchmark_runs_and_writes_its_figures(name, material, tmp_path):
    entry = ENTRIES[name]
    if entry.why_not:
        pytest.skip(entry.why_not)
    module = importlib.import_module("benchmarks." + name.removesuffix(".py").replace("/", "."))
    path = tmp_path / "results.json"
    # import_time ends so where a machine is slow; the results are written before.
    with suppress(SystemExit):
        module.main([*map(material.named, shlex.split(entry.words)), "--json", str(path)])
    content = json.loads(path.read_text())
    assert_form(content)
    assert content["command"].startswith(f"python benchmarks/{name} ")
    assert str(tmp_path) not in path.read_text()
    assert entry.check(content["figures"]) is not False


def assert_form(content: dict[str, Any]) -> None:
    """Check the keys of a results file, whose numbers are finite because JSON has no others."""
    assert tuple(content) == results.KEYS
    assert {"name", "cores", "avx512", "load"} <= set(content["processor"])
    assert {"python", "numpy"} <= set(content["versions"])
    assert content["figures"]


def test_kept_results_are_of_a_commit_and_of_no_machine_folder():
    for path in (HERE / "results").rglob("*.json"):
        content = json.loads(path.read_text())
        if "source" in content:  # figures that were in a page before there were result files
            assert tuple(content) == (*results.KEYS, "source"), path
            assert content["figures"], path
        else:
            assert_form(content)
            assert content["command"].split()[1].removeprefix("benchmarks/") in ENTRIES
            assert not any(word.startswith("/") for word in content["command"].split())
        assert re.fullmatch("[0-9a-f]{40}", content["commit"]), path


def test_documented_commands_name_programs_and_options_that_exist():
    pages = [
        *(results.ROOT / name for name in ("README.md", "Makefile")),
        *(results.ROOT / "docs").rglob("*.md"),
    ]
    commands = [match.groups() for page in pages for match in COMMAND.finditer(page.read_text())]
    assert len(commands) > 40
    for name, words in commands:
        source = (HERE / name).read_text()
        known = {"--json", *re.findall(r'"(--[\w-]+)"', source)}
        if "parse_known_args" not in source:  # which hands further options to Nextflow
            assert set(re.findall(r"(?<=\s)--[\w-]+", words)) <= known, (name, words)


def test_a_figure_that_could_not_be_measured_is_null():
    assert results.plain({"a": float("nan"), "b": [float("inf"), 1]}) == {"a": None, "b": [None, 1]}
