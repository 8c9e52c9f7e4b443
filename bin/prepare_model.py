#!/usr/bin/env python3
"""A published variant of SCEPTR as a model's folder, so that the tasks that embed need no torch."""

from pathlib import Path

from airrvec import cli, weights
from airrvec.errors import exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("model", help="a published variant")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    weights.load(args.model).save(args.out)
    cli.write_versions(args, "safetensors", "sceptr", "torch")


if __name__ == "__main__":
    main()
