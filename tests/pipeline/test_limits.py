"""Runs under real limits of the address space: one sentence says what to do, whichever library fails."""

import pytest
from pipeline_runs import ROOT, run_pipeline


@pytest.mark.parametrize(
    "before",
    [
        "process.beforeScript = 'ulimit -v 300000'",
        "process.beforeScript = 'ulimit -v 700000'",
    ],
)
def test_a_limit_of_the_address_space_is_named(tmp_path, before):
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    (tmp_path / "limit.config").write_text(f"{before}\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--skip_map", "-c", "limit.config")
    assert run.status == 1
    words = "start Nextflow after `ulimit -v unlimited`"
    (said,) = {line for line in run.output.splitlines() if words in line}
    assert said.endswith("Then start again with -resume")
