#!/usr/bin/env python3
"""Generate a shard of synthetic human receptors, with chains from OLGA's recombination models."""

from pathlib import Path

from airrvec.core import script, tables
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.terminal import counted


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--receptors", type=int, required=True, help="number of receptors of all shards")
    parser.add_argument("--shard", type=int, default=0, help="number of the shard, from 0")
    parser.add_argument("--shards", type=int, default=1, help="number of shards")
    script.add_options(parser, "seed")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file of the receptors")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    if not 0 <= args.shard < args.shards:
        raise InputError(f"there is no shard {args.shard} of {args.shards}", fix="Shards are numbered from 0")
    if args.receptors < args.shards:
        n = counted(args.receptors, "receptor")
        raise InputError(f"{n} cannot be divided into {args.shards} shards", fix="Ask for more receptors")
    if args.seed < 0:
        raise InputError(f"the seed {args.seed} is negative")
    from airrvec.synthetic.synthesis import synthesise

    first, end = (args.receptors * number // args.shards for number in (args.shard, args.shard + 1))
    tables.write(synthesise(end - first, seed=args.seed, first=first), args.out)
    script.write_versions(args, "numpy", "olga", "pyarrow", "tidytcells")


if __name__ == "__main__":
    main()
