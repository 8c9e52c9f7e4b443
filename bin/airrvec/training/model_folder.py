"""The folder of a trained model: weights, configuration, training history and card.

The card, ``README.md``, has metadata as Hugging Face reads them, and text for a person.
"""

import json
import re
from pathlib import Path

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.core.version import __version__
from airrvec.evaluation import training_labels
from airrvec.evaluation.rules import RULES
from airrvec.evaluation.training_labels import TrainingLabels
from airrvec.model import weights
from airrvec.training.presets import Preset
from airrvec.training.trainer import Trained

import pyarrow as pa

FILE_NAME = "README.md"

TAGS = ("biology", "immunology", "t-cell-receptor", "airr", "sceptr", "airrvec", "safetensors")
# Test sets of `airrvec.core.schema.SPECIFICITY` → description of the split.
SPLITS = {
    "all": "test: all held-out receptors",
    "below_90": "test: held-out receptors below 90 % identity to every training receptor",
    "below_80": "test: held-out receptors below 80 % identity to every training receptor",
}
RULES_SHOWN = ("contrast", "nearest_neighbour", "average_distance")

LOAD = """\
Here `.` is this folder, and `receptors` a table with some of `tra_v_call`, `tra_junction_aa`, `trb_v_call`
and `trb_junction_aa`, such as `airrvec.read(…)` returns. In the pipeline, give the folder as `--model`.
It needs `config.json` and `model.safetensors`.
"""
USE = """\
Use the vectors to compare α/β T-cell receptors in research: nearest neighbours, clusters, comparisons of
samples. Receptors that are likely to bind the same epitope have a small Euclidean distance, between 0 and
2.

Do not use them for diagnosis or treatment. A small distance is a hint, not an annotation. Vectors of
different models cannot be compared. The model reads the residues of the loops, not the names of genes, and
nothing of the cell.
"""
LABELS = """\
`training_labels.parquet` lists the labelled receptors that the model was trained on. Leave them out of
every test of the model; the benchmark of airrvec does so where this file lies in the folder.
"""
LICENCE = """\
airrvec and the published weights of SCEPTR are under the MIT licence. This card proposes it for the model,
too. Before you publish the model, check that the licences of its training data allow it.
"""
CITATION = """\
```bibtex
@article{nagano2025contrastive,
  title   = {Contrastive learning of {T} cell receptor representations},
  author  = {Nagano, Yuta and Pyo, Andrew G. T. and Milighetti, Martina and Henderson, James and
             Shawe-Taylor, John and Chain, Benny and Tiffeau-Mayer, Andreas},
  journal = {Cell Systems},
  volume  = {16},
  number  = {1},
  year    = {2025},
  doi     = {10.1016/j.cels.2024.12.006}
}
@software{airrvec,
  title   = {airrvec: T-cell receptor repertoires as vectors},
  author  = { {The airrvec developers} },
  version = {VERSION},
  url     = {https://github.com/airrvec/airrvec}
}
```
"""


def card(
    trained: Trained,
    preset: Preset,
    *,
    name: str,
    start: str,
    data: dict[str, str],
    labelled: bool = False,
    measured: pa.Table | None = None,
) -> str:
    """
    Return the model card as Markdown with a YAML header.

    Parameters
    ----------
    trained, preset, name, start, data
        As in `airrvec.training.model_folder.write`.
    labelled : bool
        Whether the folder holds the labelled receptors that the model was trained on.
    measured : pyarrow.Table, optional
        `airrvec.core.schema.SPECIFICITY` of the model, and of the model that training started from.
    """
    means = _means(measured)
    losses = {part: _row(trained, part) for part in ("train", "validation")}
    return "\n".join(
        [
            *("---", *_header(name, start, data, losses["validation"], means), "---", ""),
            *(f"# {escaped(name)}", ""),
            f"{escaped(preset.title)}: a model that turns T-cell receptors into vectors,",
            "trained with airrvec.",
            *("", "## Load", ""),
            *("```python", "import airrvec", "", 'vectors = airrvec.embed(receptors, model=".")', "```"),
            *("", LOAD.rstrip()),
            *("", "## Intended use", "", USE.rstrip()),
            *("", "## Training", "", *_table(("", ""), _facts(trained, preset, start, data))),
            *(["", LABELS.rstrip()] if labelled else []),
            *("", "## Evaluation", "", *_evaluation(losses, means, name, start)),
            *(f"\n- {escaped(note)}" for note in trained.notes),
            "",
            "`config.json` holds all settings, `training.parquet` all steps, `training.png` the loss curves.",
            *("", "## Licence", "", LICENCE.rstrip()),
            *("", "## Citation", "", CITATION.replace("VERSION", __version__).rstrip()),
            "",
        ]
    )


def escaped(text: str) -> str:
    """Return text in which Markdown and HTML see no markup, on one line."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", line).replace("&", "&amp;").replace("<", "&lt;")


def _header(name: str, start: str, data: dict[str, str], validation: dict | None, means: dict) -> list[str]:
    """Return the YAML lines; a JSON string is a YAML string, whatever the text holds."""
    metrics = [
        (SPLITS[test_set], "roc_auc", f"mean AUROC, {RULES[rule].title}", round(auroc, 4))
        for (encoder, rule, test_set), auroc in means.items()
        if encoder == name
    ]
    if validation:
        metrics.append(("validation", "loss", "loss", round(validation["loss"], 4)))
    lines = [
        "license: mit",
        "library_name: airrvec",
        "pipeline_tag: feature-extraction",
        "tags:",
        *(f"- {tag}" for tag in TAGS),
        "datasets:",
        f"- {_yaml(', '.join(data.values()))}",
        "metrics:",
        *(f"- {metric}" for metric in dict.fromkeys(metric for _, metric, *_ in metrics)),
    ]
    lines = lines if metrics else lines[:-1]
    if not metrics:
        return lines
    lines += ["model-index:", f"- name: {_yaml(name)}", "  results:"]
    for split, metric, title, value in metrics:
        lines += [
            *("  - task:", "      type: feature-extraction", "    dataset:", "      type: own"),
            *(f"      name: {_yaml(data.get('Data', name))}", f"      split: {_yaml(split)}"),
            *(
                "    metrics:",
                f"    - type: {metric}",
                f"      name: {_yaml(title)}",
                f"      value: {value}",
            ),
        ]
    return lines


def _yaml(text: str) -> str:
    # ASCII only: YAML forbids some of the characters that JSON allows.
    return json.dumps(str(text), allow_nan=False)


def _facts(trained: Trained, preset: Preset, start: str, data: dict[str, str]) -> list[tuple[str, str]]:
    terms = [preset.objective.loss_name and f"{preset.objective.loss_name} contrastive"]
    terms.append("masked language" if preset.objective.masked_language else None)
    facts = {
        "Start": start,
        "Objective": " + ".join(filter(None, terms)),
        "Trained layers": preset.layers,
        "Steps": f"{trained.step:,} of at most {preset.schedule.steps:,}",
        "Batch": counted(preset.schedule.batch_size, "receptor"),
        "Learning rate": f"{preset.schedule.learning_rate:g}",
        "Warm-up": counted(preset.schedule.warmup_steps, "step"),
        **_own_files(preset),
        **data,
        "airrvec": __version__,
    }
    return [(word, escaped(value)) for word, value in facts.items()]


def _own_files(preset: Preset) -> dict[str, str]:
    """Return what the card says of the user's Python files: word → name and digest."""
    settings, files = preset.as_dict(), {}
    if "contrastive_sha256" in settings["objective"]:
        objective, loss = settings["objective"], preset.objective.loss
        assert loss is not None
        title = f"{loss.title}: {objective['contrastive']}"
        files["Loss"] = f"{title}, SHA-256 {objective['contrastive_sha256']}"
    if "callbacks_sha256" in settings:
        files["Callbacks"] = f"{settings['callbacks']}, SHA-256 {settings['callbacks_sha256']}"
    return files


def _evaluation(losses: dict, means: dict, name: str, start: str) -> list[str]:
    rows = [(part, f"{row['step']:,}", f"{row['loss']:.4f}") for part, row in losses.items() if row]
    lines = _table(("Split", "Step", "Loss"), rows)
    if not means:
        return lines
    compared = []
    for rule in RULES_SHOWN:
        for test_set, split in SPLITS.items():
            values = [means.get((encoder, rule, test_set)) for encoder in (start, name)]
            if values != [None, None]:
                before, after = ("" if value is None else f"{value:.3f}" for value in values)
                compared.append((RULES[rule].title, split, before, after))
    header = ("Rule", "Split", f"AUROC, {escaped(start)}", f"AUROC, {escaped(name)}")
    why = (
        "Mean over the epitopes. Test receptors of an epitope are ranked against those of the other epitopes."
    )
    return [*lines, "", why, "", *_table(header, compared)]


def _table(header: tuple, rows: list[tuple]) -> list[str]:
    lines = [header, ("---",) * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _means(measured: pa.Table | None) -> dict[tuple[str, str, str], float]:
    """Return the AUROC by encoder, rule and test set, mean over the epitopes; of shown rules only."""
    rows = measured.to_pylist() if measured else []
    return {
        (row["encoder"], row["rule"], row["test_set"]): row["auroc"]
        for row in rows
        if row["epitope"] == "mean" and row["auroc"] is not None and row["rule"] in RULES_SHOWN
    }


def _row(trained: Trained, part: str) -> dict | None:
    """Return the losses at the step of the weights, or the last ones, if there are any."""
    rows = [row for row in trained.history.to_pylist() if row["part"] == part]
    return next((row for row in rows if row["step"] == trained.step), rows[-1] if rows else None)


def write(
    folder: Path,
    trained: Trained,
    preset: Preset,
    *,
    name: str,
    start: str,
    data: dict[str, str],
    labels: TrainingLabels = training_labels.NO_LABELS,
) -> None:
    """
    Write the folder of a trained model.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    trained : Trained
        From `airrvec.training.trainer.train`.
    preset : Preset
        Preset of the training.
    name : str
        Name of the model in reports.
    start : str
        The model that training started from, or ``random weights``.
    data : dict
        Description of the training data: terms → numbers or digests, for the card and the configuration.
    labels : TrainingLabels
        Labelled receptors that the model and its starting model were trained on.

    Notes
    -----
    The card holds the losses; a script that measures the model afterwards writes the card again
    (`airrvec.training.model_folder.card`).
    """
    folder.mkdir(parents=True, exist_ok=True)
    details = {"start": start, "step": trained.step, "data": data, "labels": labels.write(folder)}
    weights.save(trained.encoder, name, folder, {**details, "preset": preset.as_dict()})
    tables.write(trained.history, folder / "training.parquet")
    tables.write(trained.times, folder / "training_times.parquet")
    text = card(trained, preset, name=name, start=start, data=data, labelled=bool(len(labels.receptors)))
    tables.write_text(text, folder / FILE_NAME)
