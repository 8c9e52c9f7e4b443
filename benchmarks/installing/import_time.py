#!/usr/bin/env python3
"""
Measure the processor time that each script of bin/ needs to import its modules, against a budget.

All import statements of a script are executed in a new interpreter, also those inside functions, except the
modules of extras; scripts that train are left out. Bytecode exists, as `make env` leaves it.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = ROOT / "bin"
sys.path[:0] = [str(BIN), str(ROOT)]

from benchmarks.common import results

# Seconds of processor time, about a quarter above what was measured (docs/benchmarks/installing.md).
BUDGETS = {
    **dict.fromkeys(("analyse_generation", "analyse_receptors", "associate_hla", "check_device"), 0.9),
    **dict.fromkeys(("check_samples", "describe_clones", "embed_background"), 0.9),
    **dict.fromkeys(("collect_receptors", "describe_cells", "export_airr", "merge_embeddings"), 1.0),
    **dict.fromkeys(("normalise_receptors", "plan", "render_report", "synthesise_receptors"), 1.0),
    **dict.fromkeys(("benchmark_fewshot", "compare_samples", "report"), 1.1),
    **dict.fromkeys(("count_clones", "describe_samples", "embed_receptors"), 1.3),
    **dict.fromkeys(("map_receptors", "merge_references", "place_receptors"), 1.3),
    **dict.fromkeys(("analyse_results", "compare_conditions", "export_anndata", "summarise_fewshot"), 1.4),
    **dict.fromkeys(("annotate_receptors", "calibrate_annotation", "cluster_receptors"), 1.8),
    **dict.fromkeys(("describe_gamma_delta", "handover"), 1.8),
}
EXTRAS = ("lightning", "torch", "transformers")
LEARNING = ("finetune", "pretrain")  # import torch, which alone takes seconds


def imports(source: str) -> list[str]:
    """Return all import statements of a source, without those of extras."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    nodes.sort(key=lambda node: node.lineno)
    named = [(getattr(node, "module", None) or node.names[0].name, ast.unparse(node)) for node in nodes]
    return [text for name, text in named if name.split(".")[0] not in EXTRAS]


def seconds(statements: list[str], repeats: int) -> float:
    """Return the processor time of a new interpreter that executes the statements, the least of some runs."""
    code = f"import sys; sys.path.insert(0, {str(BIN)!r})\n" + "\n".join(statements)
    times = []
    for _ in range(repeats):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        times.append(
            after.children_user - before.children_user + after.children_system - before.children_system
        )
    return min(times)


def main(argv=None) -> None:
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("scripts", nargs="*", help="names; all of bin/ if none is given")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each; the fastest counts")
    args = parser.parse_args(argv)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(BIN)], check=True)
    over = []
    table = results.Table(script="", processor_s=".2f", budget_s=".1f")
    for script in [BIN / f"{name}.py" for name in args.scripts] or sorted(BIN.glob("*.py")):
        if script.stem in LEARNING:
            continue
        taken, budget = seconds(imports(script.read_text()), args.repeats), BUDGETS.get(script.stem)
        table.add(script=script.stem, processor_s=taken, budget_s=budget)
        if budget is None or taken > budget:
            over.append(script.stem)
    results.write(args, {"scripts": table.rows})
    if over:
        sys.exit(f"Over their budget, or without one: {', '.join(over)}")


if __name__ == "__main__":
    main()
