"""Training curves."""

from pathlib import Path

from airrvec.figures.palette import COLOURS
from airrvec.figures.style import plt, save

import pyarrow as pa


def training_curves(history: pa.Table, stem: str | Path) -> None:
    """
    Draw losses, alignment and uniformity of training and validation against the step.

    Training values are running means over 1 % of the steps.

    Parameters
    ----------
    history : pyarrow.Table
        `airrvec.core.schema.TRAINING`.
    stem : str or Path
        Path without suffix; ``.svg`` and ``.png`` are written.
    """
    data = history.to_pandas()
    titles = {
        "contrastive_loss": "contrastive loss",
        "mlm_loss": "masked-language loss",
        "alignment": "alignment",
        "uniformity": "uniformity",
    }
    shown = [name for name in titles if data[name].notna().any()]
    figure, axes = plt.subplots(
        1, len(shown), figsize=(3.6 * len(shown), 3.2), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], shown, strict=True):
        for index, part in enumerate(("train", "validation")):
            part_rows = data[data["part"] == part]
            if part_rows.empty:
                continue
            values = part_rows[name]
            if part == "train":
                values = values.rolling(max(len(values) // 100, 1), min_periods=1).mean()
            axis.plot(
                part_rows["step"], values, color=COLOURS[index], linestyle="-" if index else "--", label=part
            )
        axis.set_title(titles[name])
        axis.set_xlabel("step")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(frameon=False)
    save(figure, stem)
