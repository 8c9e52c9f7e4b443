#!/usr/bin/env python3
"""
The model in the page of the map, in a headless Chromium: size, receptors per second, time to an answer.

The receptors are those of the demonstration with three random residues in each junction, so that all differ.
The page is that of `map_receptors.py`. One worker of the page embeds; the difference is that to the vectors
of the library. The first answer to a pasted pair embeds all pairs of the page, later ones the pasted pair.

    python benchmarks/report/map_embedding.py --models sceptr sceptr_large --receptors 2000 50000
"""

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
from benchmarks.common import results
from map_runs import lines, real_receptors, table_of, write_run

REPEATS = 3
CHAINS = {"pairs": ("tra", "trb"), "alpha": ("tra",), "beta": ("trb",)}
COLUMNS = {
    **{"model": "", "receptors": ",", "page_MB": ".2f", "page_without_model_MB": ".2f"},
    **{"first_answer_s": ".1f", "second_answer_s": ".1f"},
    **{f"{name}_a_second": ",.0f" for name in CHAINS},
    "largest_difference": ".0e",
}
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
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--models", nargs="+", default=["sceptr"])
    parser.add_argument("--receptors", type=int, nargs="+", default=[2000, 50_000])
    parser.add_argument("--timed", type=int, default=2000, help="receptors that one worker embeds")
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
    if browser.CHROMIUM is None:
        sys.exit("no Chromium on the path")
    table = results.Table(**COLUMNS)
    for model in args.models:
        for n in args.receptors:
            with tempfile.TemporaryDirectory() as name, browser.opened(Path(name)) as page:
                table.add(**measured(model, varied(n), Path(name), page, args.timed))
    results.write(args, {"maps": table.rows})


def measured(model: str, frame: pd.DataFrame, folder: Path, page, n_timed: int) -> dict[str, float | str]:
    write_run(folder, frame, model)
    path = folder / "map.html"
    text = path.read_text()
    held = text.split('id="model">')[1].split("</script>")[0]
    page.open(path.as_uri())
    waits = []
    for row in (0, 1):
        waits.append(page.value(f"({ASK})({lines(frame.iloc[[row]])[0]!r})"))
    rates, worst = {}, 0.0
    for name, loci in CHAINS.items():
        some = frame.iloc[np.arange(n_timed) % len(frame)]
        command = f"({EMBED})({chr(10).join(lines(some, loci))!r})"
        answers = [page.value(command) for _ in range(REPEATS)]
        wanted = Sceptr(model).embed(table_of(some, loci))
        worst = max(worst, np.abs(np.reshape(answers[0][0], wanted.shape) - wanted).max())
        rates[f"{name}_a_second"] = n_timed / min(seconds for _, seconds in answers)
    return {
        **{"model": model, "receptors": len(frame), "largest_difference": worst},
        **{"page_MB": len(text) / 1e6, "page_without_model_MB": (len(text) - len(held)) / 1e6},
        **{"first_answer_s": waits[0], "second_answer_s": waits[1], **rates},
    }


if __name__ == "__main__":
    main()
