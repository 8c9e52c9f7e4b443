"""Column maps: of one sample, of those that have neither map nor format, and of the labelled table."""

import json

from pipeline_runs import ROOT, run_pipeline

DATA = ROOT / "tests/data"
PAIRS = {
    f"{locus}_{field}": column
    for locus, columns in (("tra", ("TRAV", "TRAJ", "CDR3A")), ("trb", ("TRBV", "TRBJ", "CDR3B")))
    for field, column in zip(("v_call", "j_call", "junction_aa"), columns, strict=True)
}
CHAINS = {
    "v_call": "v_gene",
    "j_call": "j_gene",
    "junction_aa": "cdr3",
    "locus": "chain",
    "cell_id": "barcode",
    "productive": "productive",
    "is_cell": "is_cell",
}


def test_each_sample_is_read_by_its_own_map_the_common_one_or_its_format(tmp_path):
    (tmp_path / "pairs.json").write_text(json.dumps(PAIRS))
    (tmp_path / "chains.json").write_text(json.dumps(CHAINS))
    (tmp_path / "samples.csv").write_text(
        "sample,path,format,column_map,tissue\n"
        f"own,{DATA}/sceptr.tsv,,pairs.json,blood\n"
        f"common,{DATA}/10x.csv,,,blood\n"
        f"format,{DATA}/scirpy.h5ad,scirpy,,blood\n"
    )
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--column_map", "chains.json", "--skip_map")
    assert run.status == 0, run.output
    lines = [line.split() for line in (run.results / "summary.txt").read_text().splitlines()]
    table = {line[0]: line[1:4] for line in lines if line and line[0] in ("own", "common", "format")}
    assert table == {
        "own": ["columns", "3", "3"],
        "common": ["columns", "9", "5"],
        "format": ["scirpy", "6", "3"],
    }
    assert not run.warnings
