"""Every block of docs/guides/python.md runs on the results of a real run."""

import re
import subprocess
import sys

from pipeline_runs import ROOT, environment


def test_the_blocks_of_the_page_run_one_after_another(real_run, tmp_path):
    text = (ROOT / "docs/guides/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 12
    # The demonstration's sample, where the test's profile has others.
    code = "\n".join(blocks).replace("results/demo", str(real_run.results)).replace('"pbmc"', '"b"')
    code = code.replace("pbmc.parquet", "b.parquet").replace("pbmc.h5ad", "b.h5ad")
    (tmp_path / "page.py").write_text(code)
    done = subprocess.run(
        [sys.executable, tmp_path / "page.py"],
        cwd=ROOT,
        env=environment(MPLBACKEND="agg"),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "415 391 0" in done.stdout
    assert "(3, 65) ['beta', 'beta', <NA>]" in done.stdout
    assert "the queries are of the model 'sceptr' (64 dimensions, weights b4c2d06bc5ac), and" in done.stdout
