"""Analyses in real runs: their tables, figures and sections, and what is said where they cannot be done."""

import pandas as pd
from columns_written import check_columns
from pipeline_runs import ROOT, run_pipeline


def test_analyses_are_tables_figures_and_sections(tmp_path):
    run = run_pipeline(
        tmp_path,
        *(
            "-profile",
            "test",
            "--handover",
            "false",
            "--skip_map",
            "--export_airr",
            "false",
            "--export_anndata",
            "false",
        ),
        *("--encoders", "sceptr,tcrdist", "--analyses", "alignment,coincidence,entropy"),
    )
    assert run.status == 0, run.output
    assert run.warnings == []
    assert check_columns(run.results) >= {"alignment", "coincidence", "entropy"}
    folder = run.results / "analyses"
    assert {path.name for path in folder.iterdir()} == {
        *(
            f"{name}.{suffix}"
            for name in ("alignment", "coincidence", "entropy")
            for suffix in ("parquet", "tsv", "svg", "png")
        ),
        "alignment_not_done.tsv",
    }
    tasks = sorted(
        task["name"].split("(")[1][:-1] for task in run.tasks if "ANALYSE_RECEPTORS" in task["name"]
    )
    assert tasks == ["alignment sceptr", "alignment tcrdist", "coincidence", "entropy"]

    alignment = pd.read_parquet(folder / "alignment.parquet")
    summary = pd.read_parquet(run.results / "benchmark/auroc_summary.parquet")
    mean = summary.query(
        "encoder == 'sceptr' and rule == 'nearest_neighbour' and epitope == 'mean' and k == 5"
    )
    assert list(alignment["encoder"]) == ["sceptr"]
    assert alignment["auroc"].item() == mean["auroc_mean"].item()
    entropy = pd.read_parquet(folder / "entropy.parquet")
    assert set(entropy["encoder"]) == {"sceptr", "tcrdist"}
    not_done = pd.read_csv(folder / "alignment_not_done.tsv", sep="\t")
    assert list(not_done["encoder"]) == ["tcrdist"]

    report = (run.results / "multiqc/multiqc_report.html").read_text()
    assert "airrvec_analysis_alignment" in report
    assert "it gives distances, and no vectors" in report


def test_without_a_labelled_table_the_report_says_so(tmp_path):
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT}/assets/test/pbmc_b.csv\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--analyses", "distances", "--skip_map")
    assert run.status == 0, run.output
    assert len(pd.read_parquet(run.results / "analyses/distances.parquet")) == 0
    assert "there is no labelled receptor table" in (run.results / "multiqc/multiqc_report.html").read_text()
