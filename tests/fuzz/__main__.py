"""Run cases on all cores, keep those that fail, and make them smaller."""

import argparse
import json
import queue
import sys
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path

from fuzz import cases
from fuzz.corpus import Case
from fuzz.minimise import minimised
from fuzz.workers import LIMIT_S, Outcome, Worker, outcomes

_REPORT_EVERY_S = 30
_MINIMISED = 20  # ways of failing at most


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for a case")
    parser.add_argument(
        "--failures", type=Path, default=Path("results/fuzz"), help="folder of cases that fail"
    )
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--repeat", type=Path, help="folder of a case, which alone is run")
    return parser.parse_args(argv)


def main(argv=None) -> int:
    args = parse_args(argv)
    if args.repeat:
        with Worker(args.limit) as worker:
            outcome = worker.outcome(Case.read(args.repeat))
        print(outcome.details, f"{outcome.result} {outcome.failure}".strip(), sep="\n")
        return int(outcome.result == "failed")
    start = time.monotonic()
    last = start
    results, found, longest = Counter(), {}, (0.0, 0)
    for done, (number, outcome) in enumerate(sharded(args), start=1):
        results[outcome.kind, outcome.result] += 1
        longest = max(longest, (outcome.seconds, number))
        if outcome.failure:
            if outcome.failure not in found:
                _say(f"case {number} fails: {outcome.failure}")
            found.setdefault(outcome.failure, []).append((number, outcome))
        if time.monotonic() - last > _REPORT_EVERY_S:
            last = time.monotonic()
            _say(f"{done:,} of {args.cases:,} cases, {last - start:.0f} s, {len(found)} ways of failing")
    seconds = time.monotonic() - start
    figures = {
        "cases": args.cases,
        "seed": args.seed,
        "first": args.first,
        "jobs": args.jobs,
        "seconds": round(seconds, 1),
        "ms_a_case": round(1000 * seconds * args.jobs / args.cases, 1),
        "longest_s": round(longest[0], 2),
        "longest_case": longest[1],
        "results": {" ".join(key): n for key, n in sorted(results.items())},
        "failures": {failure: len(examples) for failure, examples in found.items()},
    }
    text = json.dumps(figures, indent=2)
    print(text)
    if args.json:
        args.json.write_text(text + "\n")
    for failure, examples in list(found.items())[:_MINIMISED]:
        _keep(args, failure, examples)
    return int(bool(found))


def sharded(args):
    """The number and outcome of every case, in the order in which they end."""
    numbers, lock, ended = count(args.first), threading.Lock(), queue.SimpleQueue()

    def shares():
        while True:
            with lock:
                number = next(numbers)
            if number >= args.first + args.cases:
                return
            yield number

    def run() -> None:
        try:
            for result in outcomes(args.seed, shares(), args.limit):
                ended.put(result)
        except BaseException as error:  # is raised again where it is seen
            ended.put(error)

    for _ in range(args.jobs):
        threading.Thread(target=run, daemon=True).start()
    for _ in range(args.cases):
        result = ended.get()
        if isinstance(result, BaseException):
            raise result
        yield result


def _keep(args, failure: str, examples: list[tuple[int, Outcome]]) -> None:
    """Write the smallest case that fails in a way, and say how to repeat it."""
    number, outcome = examples[0]
    case = cases.case(args.seed, number)
    with Worker(args.limit) as worker:
        smaller = minimised(case, lambda other: worker.outcome(other).failure == failure)
    folder = args.failures / f"{args.seed}_{number}"
    repeat = f"make fuzz REPEAT={folder}"
    numbers = [number for number, _ in examples]
    smaller.write(folder, what=failure, repeat=repeat, seed=args.seed, cases=numbers[:10])
    folder.with_suffix(".log").write_text(outcome.details)
    _say(f"{len(examples)} × {failure}\n    {repeat}")


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
