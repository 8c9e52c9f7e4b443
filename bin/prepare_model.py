#!/usr/bin/env python3
"""Save a published variant of SCEPTR as a model folder, so that embedding tasks need no torch."""

from pathlib import Path

from airrvec.core import script
from airrvec.core.errors import exit_on_input_error
from airrvec.model import weights


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("model", help="published variant")
    parser.add_argument("--out", type=Path, required=True, help="model folder")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    weights.load(args.model).save(args.out)
    script.write_versions(args, "safetensors", "sceptr", "torch")


if __name__ == "__main__":
    main()
