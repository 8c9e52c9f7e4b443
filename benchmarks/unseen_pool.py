#!/usr/bin/env python3
"""
AUROC on epitopes that were not trained, with and without the receptors of training among the negatives.

Mean over epitopes of the mean over splits; the division into training and test receptors is the one of
`finetune.py` for the seed. An encoder is a name of `airrvec.encoders` or the folder of a model.

    python benchmarks/unseen_pool.py vdjdb_full_2023-06-01.txt.gz sceptr sceptr_finetuned tcrdist
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bin"))

from airrvec.core import runtime

runtime.limit_threads(1)

from airrvec import encoders
from airrvec.benchmark import fewshot
from airrvec.benchmark.heldout import specificity, splits
from airrvec.core import schema
from airrvec.input import reading
from airrvec.input.normalise import normalise

import pyarrow as pa


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labelled", type=Path, help="labelled table, in any input format")
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    table = normalise(reading.open_chains(args.labelled), sample_id="labelled", species="homosapiens")
    labelled = fewshot.select_labelled(
        table.cells, table.receptors, species="homosapiens", exclude_references="10xgenomics"
    )
    split = splits.study_split(labelled, seed=args.seed)
    found = pa.concat_tables(
        specificity.evaluate_unseen_epitopes(encoders.load(name), name, split, seed=args.seed)
        for name in args.encoders
    )
    summary = fewshot.summarise(found).to_pandas()
    means = summary[summary["epitope"] == schema.MEAN].pivot_table(
        index=["rule", "encoder", "test_set"], columns="k", values="auroc_mean"
    )
    epitopes = sorted(set(summary["epitope"]) - {schema.MEAN})
    print(f"{len(epitopes)} epitopes: {', '.join(epitopes)}")
    print(means.round(3).to_string())


if __name__ == "__main__":
    main()
