#!/usr/bin/env python3
"""Embed a shard of receptors as vectors."""

from itertools import chain, starmap
from pathlib import Path

from airrvec.core import runtime, script, settings, tables, vectors
from airrvec.core.errors import exit_on_input_error
from airrvec.core.progress import counter
from airrvec.core.version import __version__

PORTION = 8_192  # receptors that one core reads, embeds and writes at a time
GPU_PORTION = 16 * PORTION  # enough receptors of each length to keep a GPU busy


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("receptors", type=Path, help="receptors to embed")
    settings.add(parser, "model", "device", "precision")
    script.add_options(parser, "threads")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file of the vectors")
    parser.add_argument("--qc", type=Path, help="JSON file for the counts, if the shard is all receptors")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.encoders.sceptr import Sceptr

    encoder = Sceptr(args.model, device=args.device, precision=args.precision)

    def tokenised(portion):
        return portion["receptor_id"], encoder.tokens(portion)

    def embedded(receptor_ids, tokens):
        return tables.embeddings_table(receptor_ids, encoder.embed_tokens(tokens, progress=progress))

    metadata = {
        **encoder.loaded.vector_model.metadata(),
        "airrvec_version": __version__,
        "device": encoder.device,
        "precision": encoder.precision,
    }
    on_gpu = encoder.device == "gpu"
    progress = counter("receptors embedded", tables.n_rows(args.receptors))
    portions = tables.read_batches(args.receptors, GPU_PORTION if on_gpu else PORTION)
    if on_gpu:  # for one thread: two that share a model would move it at once
        done = starmap(embedded, runtime.in_threads(tokenised, portions, 2))
    else:
        done = runtime.in_threads(lambda portion: embedded(*tokenised(portion)), portions, args.threads)
    first = next(done)
    with tables.writer(args.out, first.schema, metadata) as writer:
        for table in chain([first], done):
            writer.write_table(table)
    if args.qc:
        vectors.write_counts(args.out, args.qc)
    packages = ["numba", "numpy", "pyarrow", "safetensors", "tidytcells"]
    script.write_versions(args, *packages, *(["torch"] if on_gpu else []))


if __name__ == "__main__":
    main()
