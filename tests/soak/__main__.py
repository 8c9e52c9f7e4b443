"""
Disturb runs of the pipeline at random, resume each, and compare its results with those of an undisturbed run.

    make soak RUNS=100 SEED=0

Every result must have the bytes that it has without the fault; only what holds times is left out. The log
has a row per run: what was injected and when, how the disturbed run ended, what the resumed one took from the
cache, and what differs.
"""

import argparse
import csv
import shutil
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("slurm", "pipeline")]

from pipeline_runs import differences, digests  # noqa: E402

from soak import faults, nodes  # noqa: E402
from soak.runs import Case  # noqa: E402

COLUMNS = ("run", "fault", "moment", "injected", "status", "resumes", "tasks", "cached", "differs")


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", type=int, nargs="+", help="of these runs, the ones with these numbers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="runs at once")
    parser.add_argument("--log", type=Path, default=Path("results/soak.tsv"))
    parser.add_argument("--faults", nargs="+", choices=sorted(faults.FAULTS), default=sorted(faults.FAULTS))
    parser.add_argument("--keep", action="store_true", help="keep the folders of runs that differ")
    return parser.parse_args(argv)


def disturbed(number: int, name: str, args, folder: Path, expected: dict[str, str]) -> dict:
    """The row of one run: ``expected`` has the digests of an undisturbed one."""
    rng = np.random.default_rng([args.seed, number])
    case = Case(folder / f"{number:04d}", rng)
    row = {"run": number, "fault": name}
    try:
        with faults.FAULTS[name](case) as fault:
            row |= fault.run()
            found = differences(digests(case.results), expected)
            row["differs"] = "; ".join(found) or "nothing"
    except Exception:
        row["differs"] = f"failed: {traceback.format_exc(limit=-3)}\n{case.last_words()}"
    if row["differs"] == "nothing" or not args.keep:
        shutil.rmtree(case.folder, ignore_errors=True)
    return row


def main(argv=None) -> int:
    args = parse_args(argv)
    args.log.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="airrvec-soak-"))
    folder.chmod(0o755)
    plain = Case(folder / "undisturbed", np.random.default_rng(args.seed))
    plain.folder.mkdir()
    plain.start().ended(status=0)
    expected = digests(plain.results)
    # Each fault as often as the others, in an order of chance.
    names = [args.faults[number % len(args.faults)] for number in range(args.runs)]
    np.random.default_rng(args.seed).shuffle(names)
    numbers = args.only or range(args.runs)
    lock = threading.Lock()
    with args.log.open("w", newline="") as handle, nodes.services():
        log = csv.DictWriter(handle, COLUMNS, delimiter="\t", lineterminator="\n")
        log.writeheader()

        def one(number: int) -> bool:
            row = disturbed(number, names[number], args, folder, expected)
            with lock:
                log.writerow(row)
                handle.flush()
                print("\t".join(str(row.get(name, "")) for name in COLUMNS), flush=True)
            return row["differs"] == "nothing"

        with ThreadPoolExecutor(args.jobs) as pool:
            same = sum(pool.map(one, numbers))
    whole = same == len(numbers)
    print(f"{same} of {len(numbers)} ended with the {len(expected)} files of an undisturbed run: {args.log}")
    if whole or not args.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
