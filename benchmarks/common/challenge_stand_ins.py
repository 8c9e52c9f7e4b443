"""Small stand-ins for the public challenges' repositories, of the demonstration's labelled receptors."""

import json
from pathlib import Path

import pandas as pd

EPITOPES = ("GILGFVFTL", "GLCTLVAML", "NLVPMVATV")
WITHOUT_TRAINING = EPITOPES[2]
N_TEST = 20  # positives of an epitope's test file; half of its negatives are positives of the training
MICRO_AUCS = {"method A": (0.5, 0.625, 0.75), "method B": (1.0, None, 0.25)}
EPITOPE_RANKS = {"method A": (1.0, 1.5, 2.0), "method B": (3.0, 3.0, 3.0)}
N_VIRAL = 35  # receptors of the viral test
N_CHANGED = 6  # receptors of an epitope of the viral test that are no references
TABLE = r"\begin{table}[ht]"
_LATEX = r"""{begin}
\toprule
 & {title} &   &   \\
  & {header} \\
\midrule
{rows}
\bottomrule
"""


def _latex(title: str, header: str, rows: list[str]) -> str:
    """Return a table as the notebook prints it."""
    return _LATEX.format(begin=TABLE, title=title, header=header, rows="\n".join(rows))


def immrep22(dash: pd.DataFrame, folder: Path) -> Path:
    """Write a stand-in of IMMREP22; ``dash``: ``epitope`` and the demonstration's columns."""
    for name in ("training_data", "true_set", "evaluation"):
        (folder / name).mkdir(parents=True)
    columns = ["TRAV", "TRAJ", "TRA_CDR3", "TRBV", "TRBJ", "TRB_CDR3"]
    names = ["v_a_gene", "j_a_gene", "cdr3_a_aa", "v_b_gene", "j_b_gene", "cdr3_b_aa"]
    rows = dash.rename(columns=dict(zip(names, columns, strict=True))).drop_duplicates(columns)
    parts = {epitope: part[columns] for epitope, part in rows.groupby("epitope")}
    tests = []
    for epitope in EPITOPES:
        test, training = parts[epitope][:N_TEST], parts[epitope][N_TEST:]
        further = [name for name in EPITOPES if name not in (epitope, WITHOUT_TRAINING)]
        unknown = pd.concat([parts[name][:N_TEST] for name in further])
        known = pd.concat([parts[name][N_TEST:][:N_TEST] for name in further])
        labelled = pd.concat([test.assign(Label=1), unknown.assign(Label=-1), known.assign(Label=-1)])
        _write(labelled, folder / f"true_set/{epitope}.txt")
        tests.append(test.assign(Epitope_GroundTruth=epitope))
        if epitope != WITHOUT_TRAINING:
            labelled = pd.concat([training.assign(Label=1), known.assign(Label=-1)])
            _write(labelled, folder / f"training_data/{epitope}.txt")
    _write(pd.concat(tests), folder / "true_set/testSet_Global.txt")
    for name, measures in (("microaucs", MICRO_AUCS), ("epitoperank", EPITOPE_RANKS)):
        table = pd.DataFrame.from_dict(measures, orient="index", columns=list(EPITOPES))
        table.insert(0, "", name)
        table.assign(_Average=0.0, ab="beta").to_csv(folder / f"evaluation/{name}.csv")
    return folder


def epytope(dash: pd.DataFrame, folder: Path) -> Path:
    """Write a stand-in of the viral test, in two tables: references, and receptors one residue off."""
    names = {
        "v_a_gene": "IR_VJ_1_v_call",
        "j_a_gene": "IR_VJ_1_j_call",
        "cdr3_a_aa": "IR_VJ_1_junction_aa",
        "v_b_gene": "IR_VDJ_1_v_call",
        "j_b_gene": "IR_VDJ_1_j_call",
        "cdr3_b_aa": "IR_VDJ_1_junction_aa",
    }
    for name in ("tcr_benchmark/data", "tcr_benchmark/pp", "manuscript"):
        (folder / name).mkdir(parents=True)
    junction = names["cdr3_b_aa"]
    rows = dash.rename(columns=names)[[*names.values(), "epitope"]]
    ends = rows[junction].str.endswith("F") & (rows[junction].str.len() < 19)
    rows = rows[ends & (rows["IR_VJ_1_junction_aa"].str.len() < 19)].drop_duplicates(junction)
    rows = rows.groupby("epitope").head(2 * N_CHANGED).reset_index(drop=True)
    is_changed = (rows.groupby("epitope").cumcount() < N_CHANGED).to_numpy()
    changed = rows[junction].str[:-5] + "W" + rows[junction].str[-4:]
    rows[junction] = changed.where(is_changed, rows[junction])
    is_first = (rows["epitope"] == EPITOPES[0]).to_numpy()
    first = rows[is_first].assign(epitope=EPITOPES[0] + "_HLA-A*02:01")
    first.to_csv(folder / "tcr_benchmark/data/01_beam-t_clones.csv")
    rows[~is_first].to_csv(folder / "tcr_benchmark/data/02_covid_dextramer_clones.csv")
    overlap = first[junction].iloc[-1:].tolist()
    (folder / "tcr_benchmark/pp/viralDownloader.py").write_text(f"OVERLAP_LIST = {overlap}\n")
    (folder / "manuscript/Figure_viral.ipynb").write_text(json.dumps({"cells": _cells()}))
    return folder


def _cells() -> list[dict]:
    """Return the cells of a notebook that prints both tables, of two tools."""
    header = " & ".join([*(epitope[:3] for epitope in EPITOPES), "Avg"])
    aucs = [
        r"\textbf{MixTCRpred} & \textbf{0.90} & 0.40 & - & \textbf{0.60} \\",
        r"ERGO & 0.55 & 0.45 & 0.35 & 0.45 \\",
    ]
    metrics = " & ".join(["AUC", "APS", "F1-Score", "Rank", "R@1", "R@3"] * 2)
    spread = " & ".join(["0.60±0.25"] * 3 + ["2.00±0.50", "0.30±0.10", "0.70±0.10"])
    means = [
        r"\textbf{MixTCRpred} & 0.69* & 0.40* & 0.40* & 1.50* & 0.41* & 0.90* & " + spread + r" \\",
        rf"ERGO & 0.51 & 0.09 & 0.13 & 7.45 & 0.09 & 0.25 & {spread} \\",
    ]
    tables = [("Full Data", metrics, means), ("High", header, aucs)]
    texts = [_latex(*table) for table in tables]
    groups = "epitope_groups = " + repr(dict.fromkeys(EPITOPES, "High"))
    cells = [("print()", text) for text in texts] + [(groups, "")]
    count = {"source": ["len(df_data)"], "outputs": [{"data": {"text/plain": [str(N_VIRAL)]}}]}
    printed = [{"source": [source], "outputs": [{"text": [text]}]} for source, text in cells]
    return [{"cell_type": "code", **cell} for cell in (count, *printed)]


def _write(rows: pd.DataFrame, path: Path) -> None:
    rows.to_csv(path, sep="\t", index=False)
