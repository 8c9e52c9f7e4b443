#!/usr/bin/env python3
"""Find the neighbours of receptors, within the radius at which background receptors have few by chance."""

from airrvec.core import runtime, script
from airrvec.core.missing import optional_part
from airrvec.repertoire.options import add_repertoire_options, read_repertoires, write_groups


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_repertoire_options(parser)
    return parser.parse_args(argv)


@optional_part("background")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    write_groups(args, read_repertoires(args), args.outdir)
    script.write_versions(args, "numba", "numpy", "olga", "pyarrow", "scipy")


if __name__ == "__main__":
    main()
