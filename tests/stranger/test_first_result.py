"""The path of a stranger: an empty folder, an empty home, no caches, the commands of the README."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.installing.first_report import on_disk, stranger

ROOT = Path(__file__).parents[2]
GB = 10**9


def commands(heading: str) -> list[str]:
    """Lines of the first block of commands below a heading of the README."""
    text = (ROOT / "README.md").read_text().split(f"## {heading}\n")[1]
    block = re.search(r"```bash\n(.*?)```", text, re.DOTALL)[1]
    return [line.split(" #")[0].strip() for line in block.splitlines()]


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The environment of somebody whose clone comes from this checkout."""
    home = tmp_path_factory.mktemp("home")
    address = commands("A first result in two minutes")[0].split()[2]
    clone_from = {"KEY_0": f"url.{ROOT}.insteadOf", "VALUE_0": address, "COUNT": "1"}
    return stranger(home) | {f"GIT_CONFIG_{name}": value for name, value in clone_from.items()}


def typed(lines: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euc", "\n".join(lines)], cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


@pytest.fixture(scope="module")
def first(tmp_path_factory, user):
    """The folder after the two commands, and what they printed."""
    folder = tmp_path_factory.mktemp("stranger")
    lines = commands("A first result in two minutes")
    assert len(lines) == 2
    printed = typed(lines, folder, user)
    return folder / "airrvec", printed


def test_two_commands_give_a_report(first):
    clone, printed = first
    report = clone / "results/demo/multiqc/multiqc_report.html"
    assert "In brief" in report.read_text()
    assert f"Report: {report.relative_to(clone)}" in printed
    assert len(list((clone / "results/demo/embeddings").glob("*.parquet"))) == 1


def test_only_the_core_was_installed(first, user):
    clone, _ = first
    packages = {path.name for path in (clone / ".venv/lib").glob("python*/site-packages/*")}
    assert "multiqc" in packages
    assert not packages & {"torch", "triton", "nvidia", "transformers", "sceptr", "kaleido", "pytest"}
    cache = Path(user["HOME"], ".cache/airrvec")
    assert on_disk(clone / ".venv", clone / ".uv", cache) <= 1.6 * GB


def test_fine_tuning_has_a_first_command_too(first, user):
    """It reuses what the demonstration has computed; torch comes from this machine's cache."""
    clone, _ = first
    own = {"UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache/uv"))}
    printed = typed(commands("Fine-tune on labels"), clone, user | own)
    held_out = re.search(r"all test receptors +nearest neighbour +(0\.\d+)  (0\.\d+)", printed)
    before, after = map(float, held_out.groups())
    assert 0.6 < before < after < 1
    assert f"{before:.3f}" in (clone / "results/demo-finetune/multiqc/multiqc_report.html").read_text()
