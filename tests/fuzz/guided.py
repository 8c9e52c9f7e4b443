"""
Tables that atheris changes towards lines of the readers that no table has reached before.

    make fuzz-guided SECONDS=3600 SEED=0

A case is a byte that chooses options, and a file. The corpus starts with the fixtures and former crashers and
grows; what fails is written as a case, for `make fuzz REPEAT=…`, and the search goes on.
"""

import argparse
import hashlib
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["airrvec.input", "airrvec.core"]):
    from airrvec.input import reading  # noqa: F401 - the readers

    from fuzz import cases, properties

    properties.script("normalise_receptors")

from fuzz import mutations
from fuzz.corpus import Case, seeds

FIGURES = "guided.json"
_LONGEST = 20_000  # bytes of a table
_OURS = 0.3  # share of changes by `mutations`, beside libFuzzer's
_LIMIT_S, _LIMIT_MIB = 30, 4_096  # of a case; of the process


def parse_args(argv=None):
    parser = argparse.ArgumentParser(prog="python -m fuzz.guided", description=__doc__.splitlines()[1])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=Path, default=Path("results/fuzz/corpus"))
    parser.add_argument("--failures", type=Path, default=Path("results/fuzz"))
    return parser.parse_args(argv)


def case_of(data: bytes) -> Case:
    """The case of a byte of options and a table."""
    choice = data[0] if data else 0
    options = {
        "sample": "s",
        "species": ("homosapiens", "musmusculus")[choice & 1],
        "multichain": cases.POLICIES[(choice >> 1) % len(cases.POLICIES)],
        "partitions": 1 + (choice >> 4) % 3,
        "max_rejected": 100,
    }
    return Case("table", {"table": data[1:]}, options)


class Search:
    """Checks each case, and keeps those that fail in a new way."""

    def __init__(self, failures: Path):
        self.failures = failures
        self.results: Counter[str] = Counter()
        self.ways: set[str] = set()

    def check(self, data: bytes) -> None:
        case = case_of(data)
        with tempfile.TemporaryDirectory(prefix="airrvec-fuzz-") as folder:
            try:
                cases.check(case, Path(folder))
                self.results["read"] += 1
            except properties.Refused:
                self.results["refused"] += 1
            except Exception as error:
                self.results["failed"] += 1
                self._keep(case, error)
        if self.results.total() % 100 == 0:
            self.write()

    def _keep(self, case: Case, error: Exception) -> None:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        way = f"{type(error).__name__} at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        if way not in self.ways:
            self.ways.add(way)
            folder = self.failures / f"guided_{hashlib.sha256(case.files['table']).hexdigest()[:12]}"
            case.write(folder, what=f"{way}: {str(error)[:200]}")
            print(f"{way}\n    make fuzz REPEAT={folder}", file=sys.stderr, flush=True)
            self.write()

    def write(self) -> None:
        """Write the figures of so far: libFuzzer ends its process by itself."""
        figures = {"cases": self.results.total(), **self.results, "ways_of_failing": sorted(self.ways)}
        (self.failures / FIGURES).write_text(json.dumps(figures, indent=2) + "\n")


def changed(data: bytes, longest: int, seed: int) -> bytes:
    """A change by libFuzzer, or one of those that `make fuzz` makes."""
    random = Random(seed)
    if random.random() < _OURS and len(data) > 1:
        return (data[:1] + mutations.changed_bytes(data[1:], random))[:longest]
    return atheris.Mutate(data, longest)


def write_corpus(folder: Path) -> None:
    """Fixtures and former crashers that are small enough; those of HDF5 need processes of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds().items():
        if len(content) < _LONGEST and not name.endswith(".h5ad"):
            (folder / name.replace("/", "_")).write_bytes(b"\0" + content)


def search(args) -> None:
    """Search in this process, which ends here."""
    words = [f"-max_total_time={args.seconds}", f"-seed={args.seed + 1}", f"-max_len={_LONGEST}"]
    words += [f"-timeout={_LIMIT_S}", f"-rss_limit_mb={_LIMIT_MIB}", f"-artifact_prefix={args.failures}/"]
    atheris.Setup(
        [sys.argv[0], str(args.corpus), *words, "-print_final_stats=1"],
        Search(args.failures).check,
        custom_mutator=changed,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()


def main(argv=None) -> int:
    args = parse_args(argv)
    args.failures.mkdir(parents=True, exist_ok=True)
    write_corpus(args.corpus)
    process = multiprocessing.get_context("fork").Process(target=search, args=(args,))
    process.start()
    process.join()
    text = (args.failures / FIGURES).read_text()
    print(text, end="")
    return int(bool(process.exitcode or json.loads(text)["ways_of_failing"]))


if __name__ == "__main__":
    sys.exit(main())
