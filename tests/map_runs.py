"""A run of real receptors with the page of its map, and what its tests do there."""

from pathlib import Path

import airrvec
from airrvec.core import schema, tables
from airrvec.encoders.sceptr import Sceptr
from airrvec.model import weights

import numpy as np
import pandas as pd
import pyarrow as pa

import map_receptors
import place_receptors

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "assets/report"
DEMO = ROOT / "assets/demo"
HOSTILE = "</script><img src=x onerror=\"document.title='run'\">"


def real_receptors() -> pd.DataFrame:
    """Distinct receptors of the demonstration, pairs and single chains, with their sample and epitope."""
    paths = (DEMO / "dash_human.csv", DEMO / "10x_lavage_filtered_contig_annotations.csv.gz")
    frame = pd.concat([airrvec.read(path) for path in paths], ignore_index=True)
    frame = frame.assign(sample_id=HOSTILE, epitope=frame["epitope"].where(frame["epitope"].notna(), None))
    return frame.drop_duplicates("receptor_id").sort_values("receptor_id", ignore_index=True)


def table_of(frame: pd.DataFrame, loci=("tra", "trb")) -> pa.Table:
    """``receptors`` of some rows, with the chains of some loci alone."""
    made = {name: frame.get(name) for name in schema.RECEPTORS.names}
    made |= {field: None for field in schema.RECEPTOR_FIELDS if field[:3] not in loci}
    return pa.Table.from_pandas(pd.DataFrame(made, index=frame.index), schema.RECEPTORS, preserve_index=False)


def write_run(folder: Path, frame: pd.DataFrame, model: str = "sceptr") -> None:
    """Write what a run gives to `map_receptors.py`, with the places, and its page."""
    receptors, encoder = table_of(frame), Sceptr(model)
    tables.write(receptors, folder / "receptors.parquet")
    vectors = tables.embeddings_table(receptors["receptor_id"], encoder.embed(receptors))
    tables.write(vectors, folder / "embeddings.parquet", encoder.loaded.vector_model.metadata())
    cells = frame[["sample_id", "receptor_id", "clonotype_id", "epitope"]].assign(
        abundance=1, count_unit="cells"
    )
    tables.write(pa.Table.from_pandas(cells, preserve_index=False), folder / "cells.parquet")
    place_receptors.main(["--embeddings", str(folder / "embeddings.parquet"), "--outdir", str(folder)])
    map_receptors.main(
        [
            *("--places", str(folder / "map.parquet")),
            *("--cells", str(folder / "cells.parquet"), "--receptors", str(folder / "receptors.parquet")),
            *("--embeddings", str(folder / "embeddings.parquet"), "--model", model),
            *("--page", str(PAGE), "--outdir", str(folder)),
        ]
    )


def own_model(folder: Path, **shape) -> str:
    """Write a model with random weights."""
    config = weights.ModelConfig(**shape)
    rng = np.random.default_rng(1)
    state = {
        name: rng.normal(scale=0.4, size=size).astype(np.float32) for name, size in config.shapes().items()
    }
    weights.LoadedModel("own <model>", "0" * 64, config, state).save(folder / "own")
    return str(folder / "own")


def lines(frame: pd.DataFrame, loci=("tra", "trb")) -> list[str]:
    names = [field for field in schema.RECEPTOR_FIELDS if field[:3] in loci]
    return [" ".join(word for word in row if isinstance(word, str)) for row in frame[names].to_numpy()]


def ask(page, text: str) -> list[dict]:
    """Paste a text, press the keys that send it, and return the answers."""
    page.value("document.getElementById('ask-clear').click()")
    page.type("#pasted", text)
    key = {"modifiers": 2, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, **key)
    page._wait_for_same("!document.getElementById('ask-find').disabled", looks=2)
    return page.value("asked.answers().map(({receptor, loci, nearest}) => ({...receptor, loci, nearest}))")


def texts(page, selector: str) -> list[str]:
    return page.value(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")
