"""The launcher of Nextflow starts no damaged jar and removes what an interrupted fetch left; no network."""

import hashlib
import os
import shutil
import signal
import subprocess
import time

import pytest
from inputs import ROOT

# Stand-ins: a Java that says how it is called, and a Maven that copies jars as slowly as it is told to.
# Java compiles a patch to a class, and airrvec.Patch to another, unless the patch says that it is wrong.
JAVA = """#!/bin/bash
if [ "$1" = -version ]; then echo 'openjdk version "17.0.1" 2024' >&2; exit; fi
[[ $* == *FileSystemCompiler* || $* == *" airrvec.Patch "* ]] || { echo "started $*"; exit; }
if [[ $* == *FileSystemCompiler* ]]; then
    echo compiled >> "$MAVEN_LOG"
    if grep -q wrong "${@: -1}"; then echo "no Groovy"; exit 1; fi
    mkdir "${@: -2:1}/airrvec" && cp "${@: -1}" "${@: -2:1}/airrvec/Patch.class"
else
    cp "${@: -1}/airrvec/Patch.class" "${@: -1}/changed.class"
fi
"""
MAVEN = """#!/bin/bash
echo fetched >> "$MAVEN_LOG"
for word; do [[ $word == -DoutputDirectory=* ]] && target=${word#*=}; done
cp "$MAVEN_JARS/a.jar" "$target"
sleep "${MAVEN_SLEEP:-0}"
cp "$MAVEN_JARS/b.jar" "$target"
"""


class Machine:
    """A folder with the launcher, a list of two jars, and the stand-ins."""

    def __init__(self, folder):
        self.folder, self.cache = folder, folder / "cache"
        self.jars = self.cache / "nextflow-24.10.0"
        (folder / "programs").mkdir()
        (folder / "source").mkdir()
        shutil.copy(ROOT / "containers/nextflow/nextflow", folder / "nextflow")
        for name, text in (("java", JAVA), ("mvn", MAVEN)):
            (folder / "programs" / name).write_text(text)
            (folder / "programs" / name).chmod(0o755)
        sums = []
        for name in ("a.jar", "b.jar"):
            content = name.encode() * 1000
            (folder / "source" / name).write_bytes(content)
            sums.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        (folder / "nextflow-24.10.0.sha256").write_text("".join(sums))

    def start(self, **more: str) -> subprocess.Popen:
        env = {
            "PATH": f"{self.folder}/programs{os.pathsep}{os.environ['PATH']}", "HOME": str(self.folder),
            "AIRRVEC_NEXTFLOW": "24.10.0", "AIRRVEC_CACHE": str(self.cache),
            "MAVEN_JARS": str(self.folder / "source"), "MAVEN_LOG": str(self.folder / "log"), **more,
        }  # fmt: skip
        # A shell that starts the tests in the background ignores SIGINT, and so would all that they start.
        return subprocess.Popen(
            ["env", "--default-signal=INT", str(self.folder / "nextflow"), "run"], env=env, text=True,
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, **more: str) -> tuple[int, str, str]:
        process = self.start(**more)
        out, errors = process.communicate(timeout=60)
        return process.returncode, out, errors

    def count(self, word: str) -> int:
        log = self.folder / "log"
        return log.read_text().count(word) if log.exists() else 0

    @property
    def fetches(self) -> int:
        return self.count("fetched")

    @property
    def patched(self) -> list:
        return sorted(self.cache.glob("nextflow-24.10.0-patch-*"))

    def is_whole(self) -> bool:
        names = {path.name for path in self.jars.iterdir()}
        return names == {"a.jar", "b.jar"} and all(
            (self.jars / name).read_bytes() == (self.folder / "source" / name).read_bytes() for name in names
        )


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


def test_jars_are_fetched_once(machine):
    for _ in range(2):
        status, out, _ = machine.run()
        assert status == 0
        assert out.startswith("started ")
        assert f"-cp {machine.jars}/* nextflow.cli.Launcher run" in out
    assert machine.fetches == 1
    assert machine.is_whole()


def change_a_byte(jars):
    content = bytearray((jars / "b.jar").read_bytes())
    content[77] ^= 1
    (jars / "b.jar").write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        change_a_byte,
        lambda jars: os.truncate(jars / "a.jar", 100),
        lambda jars: os.truncate(jars / "a.jar", 0),
        lambda jars: (jars / "a.jar").unlink(),
        lambda jars: (jars / "c.jar").write_text("another jar"),
    ],
    ids=["byte", "truncated", "empty", "missing", "more"],
)
def test_damaged_jars_are_fetched_again(machine, damage):
    machine.run()
    damage(machine.jars)
    status, out, errors = machine.run()
    assert (status, out[:8], machine.fetches) == (0, "started ", 2)
    assert f"the jars in {machine.jars} are damaged; fetching them again" in errors
    assert machine.is_whole()
    assert [path.name for path in machine.cache.iterdir()] == [machine.jars.name]
    assert machine.run()[2] == ""


def test_damaged_jars_are_not_started_where_maven_fails(machine):
    machine.run()
    os.truncate(machine.jars / "a.jar", 100)
    (machine.folder / "programs/mvn").write_text("#!/bin/sh\nexit 1\n")
    status, out, errors = machine.run()
    assert (status, out) == (1, "")
    assert "Maven could not fetch Nextflow 24.10.0" in errors
    assert not any(machine.cache.iterdir())


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_next_start_removes_what_an_interrupted_fetch_left(machine, sent):
    process = machine.start(MAVEN_SLEEP="60")
    while not list(machine.cache.glob("nextflow-24.10.0.*/a.jar")):
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, sent)
    process.wait(60)
    process.stdout.close()
    process.stderr.close()
    left = list(machine.cache.iterdir())
    assert len(left) == (1 if sent == signal.SIGKILL else 0)
    assert machine.run()[0] == 0
    assert [path.name for path in machine.cache.iterdir()] == [machine.jars.name]
    assert machine.is_whole()


def test_a_fetch_that_goes_on_elsewhere_is_left_alone(machine):
    slow = machine.start(MAVEN_SLEEP="3")
    while not list(machine.cache.glob("nextflow-24.10.0.*/a.jar")):
        assert slow.poll() is None
        time.sleep(0.02)
    (partial,) = machine.cache.iterdir()
    other_host = machine.cache / "nextflow-24.10.0.999999999.elsewhere.abcdef"
    forgotten = machine.cache / "nextflow-24.10.0.AbCdEf"  # of a launcher before this one
    for folder in (other_host, forgotten):
        folder.mkdir()
    os.utime(forgotten, (0, 0))
    assert machine.run()[0] == 0
    assert {path.name for path in machine.cache.iterdir()} == {
        machine.jars.name, partial.name, other_host.name,
    }  # fmt: skip
    out, _ = slow.communicate(timeout=60)
    assert slow.returncode == 0
    assert out.startswith("started ")
    assert machine.is_whole()
    assert not partial.exists()


@pytest.fixture
def patch(machine):
    path = machine.folder / "patch-24.10.0.groovy"
    path.write_text("a patch")
    return path


def test_a_patch_is_made_once_and_each_text_has_its_own(machine, patch):
    for _ in range(2):
        status, out, _ = machine.run()
        assert status == 0
        (made,) = machine.patched
        assert f"-cp {made}:{machine.jars}/*" in out
    assert machine.count("compiled") == 1
    assert {path.name for path in made.rglob("*.class")} == {"Patch.class", "changed.class"}
    patch.write_text("another patch")
    assert machine.run()[0] == 0
    assert machine.count("compiled") == len(machine.patched) == 2
    assert (machine.fetches, machine.is_whole()) == (1, True)


@pytest.mark.parametrize("damaged", ["airrvec/Patch.class", "changed.class", "patch.sha256"])
@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 0), lambda path: path.unlink()])
def test_a_damaged_patch_is_made_again(machine, patch, damaged, damage):
    machine.run()
    (made,) = machine.patched
    damage(made / damaged)
    assert machine.run()[::2] == (0, "")
    assert (machine.count("compiled"), machine.fetches) == (2, 1)
    assert (made / "changed.class").read_text() == patch.read_text()


def test_nextflow_starts_without_a_patch_that_cannot_be_made(machine, patch):
    patch.write_text("wrong")
    status, out, errors = machine.run()
    assert status == 0
    assert out.startswith("started ")
    assert f" -cp {machine.jars}/* " in out
    assert errors.endswith(
        "no Groovy\nairrvec's nextflow: could not compile patch-24.10.0.groovy.\n"
        "airrvec's nextflow: starting without patch-24.10.0.groovy\n"
    )
    assert [path.name for path in machine.cache.iterdir()] == [machine.jars.name]


def test_compiled_scripts_that_no_start_has_used_for_months_are_deleted(machine):
    kept = machine.cache / "nextflow-24.10.0-scripts"
    kept.mkdir(parents=True)
    for name in ("old.classes", "old.classes.1234", "old.txt", "new.classes"):
        (kept / name).touch()
        if not name.startswith("new"):
            os.utime(kept / name, (0, 0))
    assert f"-Dairrvec.scripts={kept} " in machine.run()[1]
    assert {path.name for path in kept.iterdir()} == {"old.txt", "new.classes"}
