#!/usr/bin/env python3
"""
Our own code beside the libraries that could replace it: JSON (ijson), neighbours (faiss), UMAP (umap-learn).

    uv run --no-sync --with ijson --with faiss-cpu python benchmarks/libraries.py

Each run has a process of its own, on one thread; airrvec and the library alternate. Vectors are those of
synthetic receptors, embedded by SCEPTR. Prints Markdown tables: median seconds, the ratio of processor times
within a round (median, least to greatest), and the most memory that a run added.
"""

import argparse
import io
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core import runtime

runtime.limit_threads(1)
import numpy as np

from alternation import OWN, TIMES, apart, digest, in_turn, measured, median, show_header, show_row, times
from faiss_neighbours import measure_neighbours, write_vectors

N_TRUSTED = 5_000  # points on which the trustworthiness of a map is computed
MEMORY = 1 << 30  # bytes that a process may have for a hostile file
HOSTILE = {
    "truncated": b'[{"a": "x"',
    "`NaN`": b'[{"a": NaN}]',
    "integer of 30 digits": b'[{"a": %s}]' % (b"9" * 30),
    "integer of 5,000 digits": b'[{"a": %s}]' % (b"9" * 5_000),
    "half of a surrogate pair": b'[{"a": "CAS\\ud800F"}]',
    "100,000 nested lists": b"[" * 100_000,
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts to run")
    parser.add_argument("--rounds", type=int, default=3, help="alternations")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[20, 200], help="of the JSON files")
    parser.add_argument("--references", type=int, nargs="+", default=[20_000, 100_000, 500_000])
    parser.add_argument("--points", type=int, nargs="+", default=[2_000, 10_000, 50_000], help="of the maps")
    return parser.parse_args(argv)


# --- JSON


def measure_json(args, folder: Path) -> None:
    show_header(f"ijson {version('ijson')}", "File", "MB", "Way", *TIMES)
    path = folder / "x.json"
    ways = {OWN: partial(read_measured, read_own), "ijson": partial(read_measured, read_ijson)}
    for megabytes in args.megabytes:
        for name, write in (("AIRR data file", write_airr), ("10x contigs", write_contigs)):
            apart(write, path, megabytes)
            runs = in_turn(ways, args.rounds, path)
            assert len({run["digest"] for way in runs.values() for run in way}) == 1
            for way in runs:
                show_row(name, megabytes, way, *times(runs, way))
    show_header("Hostile files", "File", OWN, "ijson", "ijson, `use_float=True`")
    for name, content in HOSTILE.items():
        show_row(name, *(apart(outcome, options, content) for options in (None, {}, {"use_float": True})))


def write_airr(path: Path, megabytes: int) -> None:
    """Write the rearrangements of the tests' file over and over, with three long sequences, and cells."""
    known = json.loads((ROOT / "tests/data/airr.json").read_text())["Rearrangement"]
    long = dict.fromkeys(("sequence", "sequence_alignment", "germline_alignment"), "ACGTT" * 100)
    n = megabytes * 1_000_000 // 2_050
    records = [{**known[i % len(known)], **long, "sequence_id": f"s{i}", "cell_id": None} for i in range(n)]
    cells = [{"cell_id": f"c{i}", "rearrangements": [f"s{2 * i}", f"s{2 * i + 1}"]} for i in range(n // 2)]
    path.write_text(json.dumps({"Rearrangement": records, "Cell": cells}, indent=1))


def write_contigs(path: Path, megabytes: int) -> None:
    """Write the contigs of the tests' file over and over, about as long as those of 10x."""
    known = json.loads((ROOT / "tests/data/10x_contigs.json").read_text())
    long = {"sequence": "ACGTT" * 100, "quals": "I" * 500, "aa_sequence": "M" * 170}
    n = megabytes * 1_000_000 // 3_200
    known = [contig | long | {"annotations": 3 * contig["annotations"]} for contig in known]
    contigs = [known[i % len(known)] | {"barcode": f"b{i // 2}"} for i in range(n)]
    path.write_text(json.dumps(contigs, indent=4))


def read_measured(read: Callable, path: Path) -> dict:
    found, table = measured(lambda: read(path))
    return found | {"digest": digest(repr(table.to_pydict()).encode())}


def read_own(path: Path):
    from airrvec.input.files import json_table

    return json_table.read_json(path).table


def read_ijson(path: Path):
    """Read as `json_table` does, with ijson in the place of `json_text`; each list is a pass of its own."""
    from airrvec.input.files import container, json_table

    import ijson

    def items(prefix: str):
        with container.open_bytes(path) as handle:
            yield from ijson.items(handle, prefix, use_float=True)

    def table(prefix: str):
        return json_table._table(items(prefix), path, container.MAX_UNPACKED)

    if path.open().read(1) == "[":
        return table("item")
    return json_table._with_cells(table("Rearrangement.item"), json_table._cells(items("Cell.item")))


def outcome(options: dict | None, content: bytes) -> str:
    """Return what ijson with these options, or airrvec (None), makes of a file: the value or the error."""
    from airrvec.input.files.json_table import JsonText

    import ijson

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    file, own = io.BytesIO(content), options is None
    items = JsonText(io.TextIOWrapper(file), "x").items() if own else ijson.items(file, "item", **options)
    try:
        first, *_ = items
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:42]}"
    text = ascii(first["a"])
    return "`" + (text if len(text) < 40 else f"{text[:6]}…") + "`"


# --- UMAP


def measure_umap(args, folder: Path) -> None:
    columns = ("Second map, s", "Trustworthiness", "Same in all runs")
    show_header(f"umap-learn {version('umap-learn')}", "Points", "Way", *TIMES, *columns)
    vectors = folder / "vectors.npy"
    apart(write_vectors, vectors, max(args.points))
    finds = {OWN: own_map, "umap-learn": umap_learn}
    ways = {way: partial(map_measured, find, folder) for way, find in finds.items()}
    new = {f"{way}, nothing compiled": partial(map_measured, find, None) for way, find in finds.items()}
    in_turn(ways, 1, vectors, min(5_000, max(args.points)))  # compiles
    for n in args.points:
        runs = in_turn(ways | new if n == args.points[0] else ways, args.rounds, vectors, n)
        for way, of_way in runs.items():
            same = "yes" if len(set.union(*(run["digests"] for run in of_way))) == 1 else "no"
            trusted = apart(trust, vectors, of_way[0]["places"])
            show_row(f"{n:,}", way, *times(runs, way), f"{median(of_way, 'second'):.1f}", trusted, same)


def own_map(vectors: np.ndarray) -> np.ndarray:
    from airrvec.repertoire import layout

    return layout.plane(vectors, seed=1)[0]


def umap_learn(vectors: np.ndarray) -> np.ndarray:
    import umap

    return umap.UMAP(random_state=1, n_jobs=1).fit_transform(vectors)


def map_measured(find: Callable, cache: Path | None, path: Path, n: int) -> dict:
    """Measure import and first map, and a second map; ``cache``: numba's folder, None: an empty one."""
    vectors = np.load(path)[:n]
    with tempfile.TemporaryDirectory() as empty:
        os.environ["NUMBA_CACHE_DIR"] = str(cache or empty)
        (first, places), (second, again) = (measured(lambda: find(vectors)) for _ in range(2))
    digests = {digest(places.tobytes()), digest(again.tobytes())}
    return first | {"second": second["processor"], "digests": digests, "places": places}


def trust(path: Path, places: np.ndarray) -> str:
    from sklearn.manifold import trustworthiness

    vectors = np.load(path)[: len(places)]
    return f"{trustworthiness(vectors[:N_TRUSTED], places[:N_TRUSTED], n_neighbors=15):.3f}"


PARTS = {"json": measure_json, "neighbours": measure_neighbours, "umap": measure_umap}


def main(argv=None):
    args = parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        for part in args.only:
            PARTS[part](args, Path(folder))


if __name__ == "__main__":
    main()
