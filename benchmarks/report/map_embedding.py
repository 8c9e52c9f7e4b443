#!/usr/bin/env python3
"""
The model in the page of the map, in a headless Chromium: size, receptors per second, time to an answer.

The receptors are those of the demonstration with three random residues in each junction, so that all differ.
The page is that of `map_receptors.py`. One worker of the page embeds; the difference is that to the vectors
of the library. The first answer to a pasted pair embeds all pairs of the page, later ones the pasted pair.

    python benchmarks/map_embedding.py --models sceptr sceptr_large --receptors 2000 50000
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT / "tests"), str(ROOT)]

from airrvec.core import schema
from airrvec.encoders.sceptr import Sceptr

import numpy as np
import pandas as pd

import browser
from map_runs import lines, real_receptors, table_of, write_run

N_TIMED = 2000
REPEATS = 3
CHAINS = {"pairs": ("tra", "trb"), "α": ("tra",), "β": ("trb",)}
# Vectors of a text by one worker, and the seconds that it takes, without the first receptors, which compile.
EMBED = """
async text => {
    const {receptors} = asked.read(text), helper = new asked.Helper();
    const loops = receptors.map(receptor => asked.loopsOf(locus => receptor[locus], receptor.loci));
    await helper.do("embed", {receptors: loops.slice(0, 300)});
    const started = performance.now(), vectors = await helper.do("embed", {receptors: loops});
    const seconds = (performance.now() - started) / 1000;
    helper.worker.terminate();
    return [Array.from(vectors), seconds];
}
"""
# Seconds from a pasted line to its answer.
ASK = """
text => new Promise(done => {
    const started = performance.now(), answers = document.getElementById("answers");
    document.getElementById("ask-clear").click();
    new MutationObserver(() => { if (answers.children.length) done((performance.now() - started) / 1000); })
        .observe(answers, {childList: true});
    document.getElementById("pasted").value = text;
    document.getElementById("ask-form").requestSubmit();
})
"""


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=["sceptr"])
    parser.add_argument("--receptors", type=int, nargs="+", default=[2000, 50_000])
    return parser.parse_args(argv)


def varied(n: int) -> pd.DataFrame:
    """Return n different pairs, like those of the demonstration."""
    rng = np.random.default_rng(1)
    real = real_receptors()
    real = real[real["chain_pairing"] == "single pair"]
    frame = real.iloc[np.arange(n) % len(real)].reset_index(drop=True)
    for locus in schema.LOCI:
        name = schema.field(locus, "junction_aa")
        letters = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), size=(n, 3))
        frame[name] = [
            word[:3] + "".join(some) + word[6:] for word, some in zip(frame[name], letters, strict=True)
        ]
    ids = [f"{row:024x}" for row in range(n)]
    return frame.assign(receptor_id=ids, clonotype_id=ids, sample_id="a")


def main(argv=None):
    args = parse_args(argv)
    print("| Model | Receptors | Page, MB | without the model | First answer, s | Second answer, s |", end="")
    print(" Pairs a second | α | β | Largest difference |")
    print("|---" * 10 + "|")
    for model in args.models:
        for n in args.receptors:
            with tempfile.TemporaryDirectory() as name, browser.opened(Path(name)) as page:
                print(measured(model, varied(n), Path(name), page), flush=True)


def measured(model: str, frame: pd.DataFrame, folder: Path, page) -> str:
    write_run(folder, frame, model)
    path = folder / "map.html"
    text = path.read_text()
    held = text.split('id="model">')[1].split("</script>")[0]
    page.open(path.as_uri())
    waits = []
    for row in (0, 1):
        waits.append(page.value(f"({ASK})({lines(frame.iloc[[row]])[0]!r})"))
    rates, worst = [], 0
    for loci in CHAINS.values():
        some = frame.iloc[np.arange(N_TIMED) % len(frame)]
        command = f"({EMBED})({chr(10).join(lines(some, loci))!r})"
        answers = [page.value(command) for _ in range(REPEATS)]
        wanted = Sceptr(model).embed(table_of(some, loci))
        worst = max(worst, np.abs(np.reshape(answers[0][0], wanted.shape) - wanted).max())
        rates.append(N_TIMED / min(seconds for _, seconds in answers))
    sizes = f"{len(text) / 1e6:.2f} | {(len(text) - len(held)) / 1e6:.2f}"
    return (
        f"| {model} | {len(frame):,} | {sizes} | {waits[0]:.1f} | {waits[1]:.1f} |"
        + "".join(f" {rate:,.0f} |" for rate in rates)
        + f" {worst:.0e} |"
    )


if __name__ == "__main__":
    main()
