"""Run the scripts of the pipeline on your tables, without Nextflow."""

import argparse
from collections.abc import Callable

from airrvec.app import columns, find_verbs
from airrvec.app.outputs import sentences_of_the_disk
from airrvec.app.verb_options import add_options
from airrvec.app.verbs import annotate, benchmark, learn, near, tables, together
from airrvec.app.verbs.performance import performed
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.script import Parser
from airrvec.core.terminal import print_warning
from airrvec.core.version import __version__


def _verify(args: argparse.Namespace) -> None:
    from airrvec.app.verify import verify

    verify(args.results)


# Verbs without scripts.
WITHOUT_SCRIPT = ("columns", "find", "index", "verify")
# verb → its work (`airrvec.app.verbs`), and its help text.
VERBS: dict[str, tuple[Callable, str]] = {
    "normalise": (tables.normalise, "standardise tables: cells, receptors, and rejects with reasons"),
    "embed": (tables.embed, "embed the distinct receptors"),
    "nearest": (near.nearest, "find the nearest receptors of other tables"),
    "annotate": (annotate.annotate, "annotate receptors with epitopes of a labelled table"),
    "reference": (tables.reference, "merge labelled tables into one reference for annotate"),
    "clones": (together.clones, "count clones: those of each donor, and their cells in each sample"),
    "cluster": (together.cluster, "clusters, their members and motifs"),
    "compare": (together.compare, "compare samples"),
    "benchmark": (benchmark.benchmark, "benchmark encoders: few-shot AUROC on a labelled table"),
    "finetune": (learn.finetune, "fine-tune a model on a labelled table"),
    "pretrain": (learn.pretrain, "pre-train a model from random weights"),
    "index": (find_verbs.index, "add finished runs of the pipeline to an index, in which find looks"),
    "find": (find_verbs.find, "find the nearest receptors of all indexed runs"),
    "verify": (_verify, "compare the results of a run with its manifest, and its tables"),
    "columns": (columns.columns, "what the tables are, and what the columns of one mean"),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs and their options."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = Parser(prog="airrvec", description=__doc__)
    parser.add_argument("--version", action="version", version=f"airrvec {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, (_, title) in VERBS.items():
        verb = verbs.add_parser(
            name, help=title, description=title, formatter_class=formatter, allow_abbrev=False
        )
        add_options(verb, name)
    return parser


@exit_on_input_error
def main(argv=None) -> None:
    """Run a verb."""
    args = parser().parse_args(argv)
    verb, _ = VERBS[args.verb]
    with sentences_of_the_disk():
        if args.verb in WITHOUT_SCRIPT:
            verb(args)
            return
        if getattr(args, "compare", None):
            tables.compare_references(args)
            return
        if args.verb == "reference" and not args.tables:
            raise InputError("no table is given", fix="Give labelled tables, or --compare OLD NEW")
        with performed(verb, args) as work:
            pass
        print_warning(*work.said, f"airrvec: results in {work.place}")


if __name__ == "__main__":
    main()
