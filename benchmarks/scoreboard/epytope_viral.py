#!/usr/bin/env python3
"""
ePytope-TCR's viral test: epitopes ranked for each receptor, and receptors ranked for each epitope.

    git clone https://github.com/SchubertLab/benchmark_TCRprediction
    python benchmarks/scoreboard/epytope_viral.py benchmark_TCRprediction \\
        --labelled vdjdb_full_2023-06-01.txt.gz --json viral.json

References are those of a VDJdb table. Receptors of the test that are references are then removed. The tools'
scores are read from the outputs of manuscript/Figure_viral.ipynb. They are of both of `TABLES`: with one
alone in --tables, the test is another one, and the tools are not compared with our score.
"""

import ast
import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.annotation.reference_set import ReferenceSet, build_reference_set, join_words
from airrvec.core.settings import SETTINGS

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.common import challenges, results
from benchmarks.common.material import normalised

COLUMNS = {
    "tra_v_call": "IR_VJ_1_v_call",
    "tra_j_call": "IR_VJ_1_j_call",
    "tra_junction_aa": "IR_VJ_1_junction_aa",
    "trb_v_call": "IR_VDJ_1_v_call",
    "trb_j_call": "IR_VDJ_1_j_call",
    "trb_junction_aa": "IR_VDJ_1_junction_aa",
}
TABLES = ["01_beam-t_clones.csv", "02_covid_dextramer_clones.csv"]  # in tcr_benchmark/data
ALPHA, BETA = COLUMNS["tra_junction_aa"], COLUMNS["trb_junction_aa"]
LENGTH, MOST_RESIDUES, MIN_RECEPTORS = 9, 19, 5  # of an epitope, of a CDR3, of an epitope: the test's filters
NOT_PREDICTED = 0.5  # the test's AUROC for an epitope that a tool does not know
CATEGORICAL = "MixTCRpred"  # the best tool, which knows some of the epitopes


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("checkout", type=Path, help="folder of the benchmark's repository")
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--tables", nargs="+", default=TABLES, help="in tcr_benchmark/data")
    parser.add_argument("--exclude-references", default=SETTINGS["exclude_references"].default)
    return parser.parse_args(argv)


def assigned(source: str, name: str):
    """Return the literal that a Python source assigns to a name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    raise KeyError(name)


def read_test(checkout: Path, tables: list[str]) -> tuple[pd.DataFrame, int]:
    """Return the receptors of the test, by the filters of its ViralDownloader, and the number of all rows."""
    package = checkout / "tcr_benchmark"
    parts = [pd.read_csv(package / "data" / table, index_col=0, dtype=str) for table in tables]
    everything = pd.concat(parts, ignore_index=True).fillna("")
    rows = everything.assign(epitope=everything["epitope"].str.split("_").str[0])
    rows = rows[rows["epitope"].str.len() == LENGTH]
    rows = rows[rows.groupby("epitope")["epitope"].transform("size") >= MIN_RECEPTORS]
    short = (rows[ALPHA].str.len() <= MOST_RESIDUES) & (rows[BETA].str.len() <= MOST_RESIDUES)
    rows = rows[short & rows[BETA].str.endswith("F")]
    overlap = assigned((package / "pp/viralDownloader.py").read_text(), "OVERLAP_LIST")
    return rows[~rows[BETA].isin(overlap)].reset_index(drop=True), len(everything)


class Published:
    """What the notebook prints: mean scores and AUROC of each tool, epitopes and receptors of the test."""

    def __init__(self, notebook: Path):
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
        outputs = [output for cell in cells for output in cell["outputs"]]
        texts = ["".join(output.get("text", "")) for output in outputs]
        sources = ["".join(cell["source"]) for cell in cells]
        source = next(source for source in sources if source.startswith("epitope_groups"))
        (output,) = cells[sources.index("len(df_data)")]["outputs"]
        self.n_receptors = int("".join(output["data"]["text/plain"]))
        self.epitopes: list[str] = list(assigned(source, "epitope_groups"))
        header, rows = self._latex(texts, "High")
        columns = {epitope[:3]: epitope for epitope in self.epitopes}
        aucs = {tool: dict(zip(header, values, strict=True)) for tool, values in rows.items()}
        frame = pd.DataFrame(aucs).T.drop(columns="Avg").rename(columns=columns)
        self.predicted: pd.DataFrame = frame != "-"
        self.aucs: pd.DataFrame = frame.replace("-", NOT_PREDICTED).astype(float)
        header, rows = self._latex(texts, "Full Data")
        self.means = {tool: dict(zip(header[6:], values[6:], strict=True)) for tool, values in rows.items()}
        self.whole = {tool: dict(zip(header[:6], values[:6], strict=True)) for tool, values in rows.items()}

    @staticmethod
    def _latex(texts: list[str], title: str) -> tuple[list[str], dict[str, list[str]]]:
        """Return the header and the rows of the first table in LaTeX with a title; ± and stars left out."""
        table = next(text for text in texts if text.startswith(r"\begin{table}") and f" & {title} &" in text)
        lines = [line.removesuffix(r" \\") for line in table.splitlines() if line.endswith(r"\\")]
        cells = [[_plain(cell) for cell in line.split(" & ")] for line in lines]
        return cells[1][1:], {row[0]: row[1:] for row in cells[2:]}


def _plain(cell: str) -> str:
    return re.sub(r"\\textbf\{(.*)\}", r"\1", cell.strip()).split("±")[0].rstrip("*")


def reference_receptors(args) -> ReferenceSet:
    """Return the paired human references, by the product's defaults."""
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    return build_reference_set(
        cells,
        receptors,
        chains="paired",
        species="homosapiens",
        exclude_references=args.exclude_references,
    )


def main(argv=None):
    args = parse_args(argv)
    published = Published(args.checkout / "manuscript/Figure_viral.ipynb")
    rows, n_rows = read_test(args.checkout, args.tables)
    reference = reference_receptors(args)
    pairs = challenges.read_pairs(rows, COLUMNS)
    scores = challenges.score_epitopes(reference, pairs.receptors, published.epitopes)
    scores = np.vstack([scores, np.full(len(published.epitopes), np.nan)])[pairs.row]
    ids = reference.receptors["clonotype_id"].to_pylist()
    clonotypes = pairs.clonotypes()
    left = ~np.isin(clonotypes, ids)
    reporting = np.isin(ids, clonotypes)
    studies = join_words(reference.studies[reporting], reference.study_names)
    epitopes = rows_of_epitopes(rows["epitope"], scores, left, reference, published)
    own = pd.Series({row["epitope"]: row["auroc"] for row in epitopes})
    figures = {
        "test": [
            {
                "tables": "; ".join(args.tables),
                "rows": n_rows,
                "receptors": len(rows),
                "rejected": int((pairs.row < 0).sum()),
                "removed": int((~left).sum()),
                "left": int(left.sum()),
                "auroc": own.mean(),
                "receptors_of_the_tools": published.n_receptors,
                "references": len(reference),
                "studies_with_test_receptors": "; ".join(sorted(set(studies))),
            }
        ],
        "epitopes": epitopes,
        "methods": method_rows(own, published, len(rows)),
        "recall": recall_rows(rows["epitope"], scores, left, published),
    }
    show(figures)
    results.write(args, figures, ["scikit-learn", "scipy"])


def rows_of_epitopes(
    truth: pd.Series, scores: np.ndarray, left: np.ndarray, reference: ReferenceSet, published: Published
) -> list[dict]:
    """Return AUROC and rank of each epitope of the test, with all receptors and without references."""
    n_references = reference.epitopes.set_index("epitope")["n_references"]
    ranks, rows = challenges.ranks(scores), []
    for column, epitope in enumerate(published.epitopes):
        binds = (truth == epitope).to_numpy()
        if not binds.any():
            continue
        best, best_auroc = challenges.best_peer(published.aucs, epitope)
        auroc = epitope_auroc(binds, scores[:, column])
        row = {
            "epitope": epitope,
            "references": int(n_references.get(epitope, 0)),
            "receptors": int(binds.sum()),
            "left": int((binds & left).sum()),
            "auroc": auroc,
            "auroc_left": epitope_auroc(binds[left], scores[left, column]),
            "rank": float(ranks[binds, column].mean()),
            "first": float((ranks[binds, column] <= 1).mean()),
            "best_tool": best,
            "best_tool_auroc": best_auroc,
        }
        if published.n_receptors == len(truth):
            row["bold"] = ["auroc"] if auroc >= best_auroc else ["best_tool_auroc"]
        rows.append(row)
    return rows


def epitope_auroc(binds: np.ndarray, scores: np.ndarray) -> float:
    """Return the AUROC; that of the test if nothing is predicted, NaN without a positive or a negative."""
    if binds.all() or not binds.any():
        return np.nan
    return float(roc_auc_score(binds, challenges.with_lowest(scores)))


def method_rows(own: pd.Series, published: Published, n_receptors: int) -> list[dict]:
    """Return the tools' mean AUROC over the epitopes of the test beside ours, and their printed means."""
    rows = challenges.peer_rows(own, published.aucs)
    if n_receptors != published.n_receptors:  # another test: the tools alone
        nothing = dict.fromkeys(("own", "peer_better", "low", "high"))
        rows = [row | nothing for row in rows if row["method"] != challenges.OWN]
    for row in rows:
        means = {name: published.means.get(row["method"], {}).get(name) for name in ("AUC", "R@1", "Rank")}
        numbers = {name: value and float(value) for name, value in means.items()}
        row |= {"all_auroc": numbers["AUC"], "all_first": numbers["R@1"], "all_rank": numbers["Rank"]}
        row["predicted"] = int(published.predicted.loc[row["method"]].sum()) if numbers["AUC"] else None
    return rows


def recall_rows(truth: pd.Series, scores: np.ndarray, left: np.ndarray, published: Published) -> list[dict]:
    """Return how high the right epitope is ranked, among all epitopes and among those of `CATEGORICAL`."""
    known = published.predicted.loc[CATEGORICAL].reindex(published.epitopes).to_numpy()
    candidates = {"all": np.ones(len(published.epitopes), bool), CATEGORICAL: known}
    tests = {"as published": np.ones(len(truth), bool), "not in the reference": left}
    rows = []
    for name, columns in candidates.items():
        names = np.array(published.epitopes)[columns].tolist()
        ranks = challenges.ranks(scores[:, columns])
        for test, used in tests.items():
            members = np.flatnonzero(used & truth.isin(names).to_numpy())
            right = ranks[members, [names.index(epitope) for epitope in truth.iloc[members]]]
            first = pd.Series(right <= 1).groupby(truth.iloc[members].to_numpy()).mean()
            row = {"candidates": name, "epitopes": len(names), "test": test, "receptors": len(members)}
            row |= {"rank": right.mean(), "first": (right <= 1).mean(), "third": (right <= 3).mean()}
            row["first_of_epitopes"] = first.mean()
            same = name == CATEGORICAL and published.n_receptors == len(truth)
            rows.append({**row, "tool_first": float(published.whole[name]["R@1"]) if same else None})
    return rows


def show(figures: dict) -> None:
    """Print the tables in Markdown."""
    print(results.plain(figures["test"][0]), flush=True)
    table = results.Table(
        epitope="",
        references="d",
        receptors="d",
        left="d",
        auroc=".3f",
        auroc_left=".3f",
        best_tool_auroc=".2f",
    )
    for row in figures["epitopes"]:
        table.add(**{column: row[column] for column in table.columns})
    table = results.Table(method="", mean=".3f", all_auroc=".2f", all_first=".2f", peer_better="d")
    for row in figures["methods"]:
        table.add(**{column: row[column] for column in table.columns})
    table = results.Table(candidates="", test="", receptors="d", rank=".2f", first=".3f", tool_first=".2f")
    for row in figures["recall"]:
        table.add(**{column: row[column] for column in table.columns})


if __name__ == "__main__":
    main()
