"""The folder of an index: runs added, replaced and removed; damaged files refused."""

import re
import shutil
import threading
from pathlib import Path

from airrvec.app import cli, indexing, run_index
from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.model import weights

import pytest
from damaged_files import flipped
from finished_runs import WORDS, found, problem, write_index, write_run
from inputs import DATA


@pytest.fixture
def index(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "index")
    return tmp_path / "index"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def listed(folder, capsys) -> list[str]:
    capsys.readouterr()
    cli.main(["index", "--index", str(folder), "--check"])
    return capsys.readouterr().out.splitlines()


def test_a_run_is_added_without_a_change_of_what_is_there(runs, tmp_path):
    folder = tmp_path / "index"
    given = ("--index", str(folder), "--background", "300")
    cli.main(["index", str(runs["flu"]), *given])
    before = content(folder)
    cli.main(["index", str(runs["other"]), *given])
    after = content(folder)
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)
    assert not [name for name in after if "tmp" in name]
    (tmp_path / "both").mkdir()
    cli.main(["index", *map(str, runs.values()), "--index", str(tmp_path / "both"), "--background", "300"])
    assert content(tmp_path / "both") == after


def test_the_same_run_is_not_added_twice(runs, index, tmp_path, capsys):
    before = content(index)
    copy = shutil.copytree(runs["flu"], tmp_path / "copy")
    for path in (runs["flu"], copy):
        cli.main(["index", str(path), "--index", str(index)])
        assert "is in the index already" in capsys.readouterr().out
    assert content(index) == before
    assert len(listed(index, capsys)) == 2


def test_changed_results_are_noticed_and_replace_their_earlier_state(index, tmp_path, capsys):
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    cli.main(["index", str(results), "--index", str(index)])
    n = len(listed(index, capsys))
    shutil.rmtree(tmp_path / "run")
    write_run(tmp_path / "run", {"a": DATA / "10x.csv", "b": DATA / "bd.csv"})
    cli.main(["find", WORDS, "--index", str(index)])
    assert f"WARNING: {results} has changed since" in capsys.readouterr().err
    cli.main(["index", str(results), "--index", str(index)])
    assert "in place of its earlier state" in capsys.readouterr().out
    assert len(listed(index, capsys)) == n
    cli.main(["find", WORDS, "--index", str(index)])
    assert "WARNING" not in capsys.readouterr().err


def test_a_run_is_removed_by_its_results_or_its_name(runs, index, capsys):
    (name,) = [line.split()[0] for line in listed(index, capsys) if line.endswith(str(runs["flu"].resolve()))]
    cli.main(["index", "--index", str(index), "--remove", str(runs["other"])])
    assert [line.split()[0] for line in listed(index, capsys)] == [name]
    assert "holds no run" in problem(capsys, "index", "--index", index, "--remove", "other")
    cli.main(["index", "--index", str(index), "--remove", name])
    assert listed(index, capsys) == []
    assert "the index holds no receptors of homosapiens" in problem(capsys, "find", WORDS, "--index", index)


def test_runs_added_at_the_same_time_are_both_there(runs, tmp_path):
    model = weights.load("sceptr")

    def add(name: str) -> None:
        opened = run_index.create_index(tmp_path / "index", model, n_background=200, n_cells=50)
        indexing.add_run(opened, indexing.open_results(runs[name]))

    together = [threading.Thread(target=add, args=(name,)) for name in ("flu", "other", "flu", "other")]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    opened = run_index.open_index(tmp_path / "index")
    assert {run.about["results"] for run in opened.runs()} == {str(run.resolve()) for run in runs.values()}
    run_index.check(opened)


KINDS = ("records.bin", "cells.npy", "0000.parquet", "background.npy", "centres.npy")


def test_a_run_that_another_process_has_just_added_stays(runs, tmp_path):
    """Both looked into the index before either had added it."""
    opened = write_index(tmp_path / "index", {"flu": runs["flu"]})
    before = content(opened)
    index = run_index.open_index(opened)
    indexing.add_run(index, indexing.open_results(runs["flu"]))
    assert content(opened) == before
    assert [run.about["results"] for run in index.runs()] == [str(runs["flu"].resolve())]


def every_file(folder: Path) -> list[str]:
    return sorted(name for name in content(folder) if content(folder)[name])


def test_every_flipped_byte_is_refused_with_the_file_and_the_fix(index, capsys):
    """The first byte of each file, the last one, and some between."""
    names = every_file(index)
    kinds = {Path(name).name for name in names}
    assert kinds >= {
        "about.json",
        "records.bin",
        "cells.npy",
        "centres.npy",
        "background.npy",
        "0000.parquet",
    }
    for name in names:
        whole = (index / name).read_bytes()
        for place in sorted(
            {0, 7, len(whole) // 3, len(whole) // 2, len(whole) - 1} & set(range(len(whole)))
        ):
            flipped(index / name, place, 1, index / name)
            opened, said = None, ""
            try:
                opened = run_index.open_index(index)
                run_index.check(opened)
            except InputError as error:
                said = str(error)
            assert Path(name).name in said, (name, place)
            assert ("Index its runs again" if name == "about.json" else "Remove") in said
            assert "damaged" in said
            (index / name).write_bytes(whole)
    run_index.check(run_index.open_index(index))


@pytest.mark.parametrize(
    "kind", ["records.bin", "cells.npy", "0000.parquet", "background.npy", "centres.npy"]
)
def test_a_search_refuses_what_it_reads_if_it_is_damaged(index, capsys, kind):
    for path in index.rglob(kind):
        flipped(path, len(path.read_bytes()) - 1, 0, path)
    said = problem(capsys, "find", WORDS, "--index", index)
    assert f"{kind}: the file is damaged" in said
    assert "Remove" in said


def test_a_truncated_or_missing_file_is_refused_at_once(index, capsys):
    path = next(index.glob("runs/*/receptors/0000.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    assert "it has" in problem(capsys, "find", WORDS, "--index", index)
    path.unlink()
    said = problem(capsys, "find", WORDS, "--index", index)
    assert "0000.parquet: the file is missing" in said
    (index / "about.json").unlink()
    assert "about.json: the file is damaged or missing" in problem(capsys, "find", "CASSF", "--index", index)


def test_models_do_not_mix(runs, index, tmp_path, capsys):
    tiny = write_run(tmp_path / "tiny", {"a": DATA / "10x.csv"}, model="sceptr_tiny")
    said = problem(capsys, "index", tiny, "--index", index)
    assert re.search(
        r"are of the model 'sceptr_tiny' \(16 dimensions, weights \w{12}\), and those of the index of"
        r" 'sceptr' \(64 dimensions, weights \w{12}\): vectors of two models cannot be compared",
        said,
    )
    assert "Make an index of its own for each model" in said
    said = problem(capsys, "index", tiny, "--index", tmp_path / "new", "--model", "sceptr")
    assert re.search("are of the model 'sceptr_tiny' .*, and 'sceptr' is the model 'sceptr' ", said)


def test_an_own_model_is_kept_in_the_index(tmp_path, capsys):
    published = weights.load("sceptr_tiny")
    state = {name: array * 1.01 for name, array in published.state.items()}
    own = weights.LoadedModel("mine", "ab" * 32, published.config, state)
    own.save(tmp_path / "models/mine")
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"}, model=str(tmp_path / "models/mine"))
    assert "and the results do not hold it" in problem(capsys, "index", results, "--index", tmp_path / "i")
    given = ("--index", str(tmp_path / "i"), "--background", "200")
    cli.main(["index", str(results), *given, "--model", str(tmp_path / "models/mine")])
    shutil.rmtree(tmp_path / "models")
    result = found(tmp_path / "i", tmp_path / "out.parquet", DATA / "10x.csv", "--k", 1)
    assert (result["distance"] == 0).all()
    shutil.copytree(tmp_path / "i/model", results / "models/mine")
    result = found(results, tmp_path / "out.parquet", DATA / "10x.csv", "--k", 1)
    assert (result["distance"] == 0).all()


def test_a_model_of_one_chain_reads_that_chain_of_pairs(tmp_path, capsys):
    results = write_run(tmp_path, {"a": DATA / "10x.csv"}, model="sceptr_beta_only")
    result = found(results, tmp_path / "out.parquet", DATA / "10x.csv", "--k", 1)
    assert set(result["chains"]) == {"beta"}
    assert (result["distance"] == 0).all()
    said = problem(capsys, "find", "TRAV27 CAGGGSQGNLIF", "--index", results)
    assert "the model sceptr_beta_only does not read its chains" in said


def test_results_that_are_not_what_the_run_wrote_are_refused(tmp_path, capsys):
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    cells = results / "cells/a.parquet"
    tables.write(tables.read(cells).slice(1), cells)
    said = problem(capsys, "index", results, "--index", tmp_path / "i")
    assert "cells/a.parquet: differs from what the run wrote" in said
    (results / "pipeline_info/manifest.tsv").unlink()
    assert "there is no pipeline_info/manifest.tsv" in problem(
        capsys, "index", results, "--index", tmp_path / "i"
    )
    assert (
        len(found(results, tmp_path / "out.parquet", DATA / "10x.csv")) > 0
    )  # asked directly it may be unfinished
    assert "holds no receptors with their vectors" in problem(
        capsys, "index", tmp_path, "--index", tmp_path / "i"
    )


def test_a_folder_of_other_files_is_no_index(runs, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert "holds other files" in problem(capsys, "index", runs["flu"], "--index", tmp_path)
