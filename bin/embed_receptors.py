#!/usr/bin/env python3
"""Vectors of a shard of receptors."""

from pathlib import Path

from airrvec import __version__, cli, tables
from airrvec.errors import exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("receptors", type=Path)
    parser.add_argument("--model", default="sceptr", help="a published variant, or the folder of a model")
    parser.add_argument("--cpus", type=int, default=1, help="threads")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    cli.limit_threads(args.cpus)
    from airrvec.encoders.sceptr import Sceptr

    receptors = tables.read(args.receptors)
    encoder = Sceptr(args.model)
    progress = cli.progress("receptors embedded", len(receptors))
    vectors = encoder.embed(receptors, progress=progress)
    tables.write(
        tables.embeddings_table(receptors["receptor_id"], vectors),
        args.out,
        metadata={
            "model": encoder.loaded.name,
            "weights_sha256": encoder.loaded.checksum,
            "airrvec_version": __version__,
        },
    )
    cli.write_versions(args, "numpy", "pyarrow", "sceptr", "tidytcells", "torch")


if __name__ == "__main__":
    main()
