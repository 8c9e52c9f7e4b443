"""The page docs/guides/training.md: its blocks run and print what it shows; it quotes the presets."""

import json
import os
import re
import subprocess
import sys

from inputs import ROOT

PAGE = (ROOT / "docs/guides/training.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
N_PRINTED = 6


def test_its_blocks_print_what_it_shows(tmp_path):
    """Digits may differ in the last place between processors."""
    code = "\nprint('next block')\n".join(BLOCKS).replace('"results/mine"', repr(str(tmp_path / "mine")))
    (tmp_path / "page.py").write_text(code)
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "bin"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, tmp_path / "page.py"],
        cwd=ROOT, env=variables, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = [line for block in BLOCKS for line in re.findall(r"^print\(.*\)\n# (.*)$", block, re.MULTILINE)]
    printed = [line for line in done.stdout.splitlines() if line != "next block"]
    assert len(shown) == len(printed) == N_PRINTED, done.stdout
    for expected, line in zip(shown, printed, strict=True):
        number = re.compile(r"\d+(?:\.\d+)?")
        assert number.sub("#", line) == number.sub("#", expected)
        pairs = zip(number.findall(line), number.findall(expected), strict=True)
        assert all(abs(float(a) - float(b)) < 0.02 for a, b in pairs), (line, expected)


def test_it_quotes_the_presets():
    quoted = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert quoted == [
        json.loads((ROOT / f"conf/models/{name}.json").read_text()) for name in ("neighbour", "finetuned")
    ]


def test_it_names_every_argument_and_logger():
    from airrvec.training import loggers, own

    names = {*own.ARGUMENTS, *loggers.LOGGERS}
    assert [name for name in names if f"| `{name}` |" not in PAGE] == []
