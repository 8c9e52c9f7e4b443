"""The launcher keeps compiled scripts of a pipeline; whatever is wrong with them, Nextflow compiles again."""

import shutil
import subprocess

import pytest
from pipeline_runs import NEXTFLOW, environment, launcher_folders, run_pipeline

MAIN = """
include { HELLO } from './hello'

workflow {
    HELLO(channel.of('world')).view { word -> word.toUpperCase() }
}
"""
HELLO = """
process HELLO {
    input:
    val(name)

    output:
    stdout

    script:
    "printf 'hello %s' ${name}"
}
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts the pipeline of a folder with scripts that no other test has kept."""
    subprocess.run(
        [NEXTFLOW, "-version"], env=environment(), capture_output=True, check=True
    )  # makes the patch
    cache = tmp_path / "cache"
    cache.mkdir()
    for folder in launcher_folders():
        (cache / folder.name).symlink_to(folder)
    monkeypatch.setenv("AIRRVEC_CACHE", str(cache))
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.nf").write_text(MAIN)
    (project / "hello.nf").write_text(HELLO)

    def started() -> str:
        run = run_pipeline(tmp_path, project=project, outdir=False)
        assert run.status == 0, run.output
        return run.output

    return started


def kept(folder) -> list:
    return sorted((folder / "cache/nextflow-24.10.0-scripts").glob("*"))


def test_scripts_are_compiled_once(start, tmp_path):
    assert "HELLO WORLD" in start()
    files = kept(tmp_path)
    assert [path.suffix for path in files] == [".classes"] * 2  # main.nf, hello.nf
    hello = tmp_path / "project/hello.nf"
    hello.write_text(HELLO.replace("hello", "bye"))
    assert "BYE WORLD" in start()
    (bye,) = set(kept(tmp_path)) - set(files)
    hello.write_text(HELLO)
    assert "HELLO WORLD" in start()
    assert len(kept(tmp_path)) == 3
    # The classes of the files are those that run: with another's, that one does.
    for path in files:
        if b"hello %s" in path.read_bytes():
            shutil.copy(bye, path)
    assert "BYE WORLD" in start()


@pytest.mark.parametrize("damage", ["truncated", "empty", "changed"])
def test_damaged_files_are_made_again(start, tmp_path, damage):
    start()
    contents = {path: path.read_bytes() for path in kept(tmp_path)}
    for path, content in contents.items():
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"truncated": content[:middle], "empty": b"", "changed": changed}[damage])
    assert "HELLO WORLD" in start()
    assert {path: path.read_bytes() for path in kept(tmp_path)} == contents


def test_a_folder_that_cannot_be_written_is_done_without(start, tmp_path):
    (tmp_path / "cache/nextflow-24.10.0-scripts").write_text("mine")
    assert "HELLO WORLD" in start()
    assert (tmp_path / "cache/nextflow-24.10.0-scripts").read_text() == "mine"


def test_scripts_of_a_pipeline_with_classes_are_compiled_at_each_start(start, tmp_path):
    """What their words mean depends on the classes."""
    library = tmp_path / "project/lib"
    library.mkdir()
    (tmp_path / "project/hello.nf").write_text(HELLO.replace("hello", "${Words.greeting()}"))
    for word in ("hello", "bye"):
        (library / "Words.groovy").write_text(f"class Words {{ static String greeting() {{ '{word}' }} }}\n")
        assert f"{word.upper()} WORLD" in start()
    assert kept(tmp_path) == []
