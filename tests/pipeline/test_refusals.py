"""Parameters that are refused before the first task, each with one sentence that says what and where."""

import shutil
from itertools import zip_longest

import pytest
from pipeline_runs import ROOT, checked_cases, run_pipeline
from test_learning import write_presets

DASH = ("--labelled", "dash.csv")
SHEET = ("--input", str(ROOT / "assets/test/samplesheet.csv"))
SYNTHETIC = (*DASH, "--synthetic_receptors", "100")
CASES = [
    ((), "there is nothing to do: give a samplesheet with --input"),
    (("--labeled", "dash.csv"), "there is no parameter --labeled; did you mean --labelled?"),
    (("--benchmark_split", "5"), "there is no parameter --benchmark_split; did you mean --benchmark_splits?"),
    ((*DASH, "--benchmark_splits", "many"), "--benchmark_splits: 'many' is not a whole number"),
    ((*DASH, "--shard_tokens", "0"), "--shard_tokens: 0 is below the least allowed value, 1"),
    ((*DASH, "--partitions", "513"), "--partitions: 513 is above the largest allowed value, 512"),
    ((*DASH, "--max_rejected", "x"), "--max_rejected: 'x' is not a number"),
    ((*DASH, "--max_rejected", "101"), "--max_rejected: 101 is above the largest allowed value"),
    ((*DASH, "--failed_samples", "no"), "--failed_samples: 'no' is not one of stop, skip"),
    ((*DASH, "--benchmark_k", "1;2"), "--benchmark_k: '1;2' is not a list of whole numbers"),
    ((*DASH, "--multiqc_title", "a'; rm -rf ~"), "--multiqc_title: 'a'; rm -rf ~' may hold letters"),
    ((*DASH, "--email", "me"), "--email: 'me' is not an e-mail address"),
    ((*DASH, "--column_map", "nowhere.json"), "--column_map: there is no file 'nowhere.json'"),
    (("--labelled", "nowhere.csv"), "--labelled: there is no file 'nowhere.csv'"),
    (("--input", "nowhere.csv"), "--input: there is no file 'nowhere.csv'"),
    (("--input",), "--input: needs a value"),
    # Models and learning
    ((*DASH, "--device", "tpu"), "--device: 'tpu' is not one of auto, cpu, gpu"),
    (
        (*DASH, "--model", "scepter"),
        "--model: 'scepter' is neither the folder of a model nor one of sceptr, ",
    ),
    ((*DASH, "--model", "."), "--model: the folder '.' lacks config.json"),
    (
        (*DASH, "--pretrain", "bass"),
        "--pretrain: 'bass' is neither a file nor one of alpha, average_pooling,",
    ),
    ((*DASH, "--pretrain", "broken.json"), "broken.json' is no JSON object"),
    ((*DASH, "--pretrain", "nested.json"), "nested.json' is no JSON object"),
    ((*DASH, "--pretrain", "bad name.json"), "--pretrain: 'bad name.json' names the model: letters, digits"),
    ((*DASH, "--pretrain", "base"), "--pretrain: there is nothing to learn from; give a samplesheet"),
    ((*DASH, "--pretrain", "base", "--model", "sceptr_tiny"), "--model: pre-training starts from random"),
    ((*DASH, "--pretrain", "synthetic"), "say how many with --synthetic_receptors"),
    ((*SYNTHETIC, "--pretrain", "shuffled_own.json"), "the run's own receptors"),
    ((*SYNTHETIC, "--pretrain", "learns_labels.json"), "learns from labels"),
    (
        (*SYNTHETIC, "--pretrain", "tcrdist.json"),
        "'tcrdist' would be the name of two models; copy the preset",
    ),
    (SYNTHETIC, "--synthetic_receptors: they are made for pre-training"),
    ((*SHEET, "--finetune"), "--finetune: there is nothing to learn from; give a labelled receptor table"),
    ((*DASH, "--finetune", "--finetune_preset", "x.json"), "--finetune_preset: 'x.json' is neither a file"),
    (
        (*DASH, "--finetune", "--finetune_preset", "base"),
        "--finetune_preset: 'base' does not learn from labels; give neighbour, finetuned, or a preset",
    ),
    ((*DASH, "--finetune", "--finetune_preset", "mlm_only"), "'mlm_only' does not learn from labels"),
    ((*DASH, "--finetune", "--finetune_preset", "broken.json"), "broken.json' is no JSON object"),
    ((*DASH, "--finetune", "--finetune_loss", "gone.py"), "--finetune_loss: there is no file 'gone.py'"),
    ((*DASH, "--finetune", "--finetune_loss", "broken.json"), "'broken.json' is no name of a Python file"),
    ((*DASH, "--finetune", "--finetune_preset", "gone_loss.json"), "--finetune_preset: there is no file '"),
    ((*DASH, "--train_logger", "wandb"), "--train_logger: 'wandb' is not one of tensorboard, mlflow"),
    ((*DASH, "--finetune_split", "fair"), "--finetune_split: 'fair' is not one of study, random, given"),
    ((*DASH, "--checkpoint_dir", "here"), "--checkpoint_dir: 'here' is no absolute path"),
    # Encoders
    ((*DASH, "--encoders", "sceptr,sceptr"), "--encoders: 'sceptr,sceptr' names one of them twice"),
    ((*DASH, "--encoders", "sceptr,esm3"), "--encoders: 'esm3' is not one of sceptr, "),
    ((*DASH, "--encoders", "sceptr,mine.txt"), "--encoders: 'mine.txt' is not one of sceptr, "),
    ((*DASH, "--encoders", "nowhere.py"), "--encoders: there is no file"),
    ((*DASH, "--encoders", "tcrdist.py"), "'tcrdist' would be the name of two encoders"),
    ((*DASH, "--encoders", "a b.py"), "names the encoder"),
    ((*DASH, "--encoders", "sceptr,esm2"), "'esm2' needs weights of a language model"),
    ((*DASH, "--encoders", "sceptr+esm2"), "'sceptr+esm2' needs weights of a language model"),
    ((*DASH, "--hub_cache", "nowhere"), "there is no folder 'nowhere'"),
    # Analyses, annotation, comparisons
    ((*DASH, "--analyses", "all,edits"), "--analyses: 'all' stands alone"),
    ((*SHEET, "--annotate"), "--annotate: there is nothing to annotate with"),
    ((*DASH, "--annotate"), "--annotate: there is nothing to annotate;"),
    ((*SHEET, "--reference", "dash.csv"), "--reference: it annotates receptors"),
    (
        ("--input", "roles.csv", "--labelled", "dash.csv"),
        "--labelled: the samplesheet has a table with this role too (line 3); leave out one of the two",
    ),
    ((*SHEET, "--annotate", "--reference", "dash.csv,no.csv"), "--reference: there is no file 'no.csv'"),
    ((*SHEET, "--annotate", "--reference", "dash.csv,dash.csv"), "names one of them twice"),
    (
        (*SHEET, "--compare_within", "batch"),
        "--compare_within: it is the batch within which values are compared",
    ),
    # Words for the shell of a task
    ((*DASH, "--benchmark_k", "1,2\n"), "--benchmark_k: '1,2?' holds a line break or another control"),
    ((*DASH, "--registry", "x$(id)"), "--registry: 'x$(id)' may hold letters, digits and _ . / : @ + ~ -"),
    ((*DASH, "--background", "x$y"), "--background: the name of "),
    (("--labelled", "-x.csv"), "-x.csv' begins with '-', which a program would read as an option; rename it"),
    (("--labelled", "a\tb.csv"), "--labelled: 'a?b.csv' holds a line break or another control character"),
    ((*DASH, "--email", "-oQ@x.org"), "--email: '-oQ@x.org' is not an e-mail address"),
]


def prepare(folder) -> None:
    shutil.copy(ROOT / "assets/demo/dash_human.csv", folder / "dash.csv")
    write_presets(folder)
    for name in ("tcrdist.py", "a b.py", "-x.csv"):
        (folder / name).write_text("")
    (folder / "roles.csv").write_text("sample,path,role\na,dash.csv,\nb,dash.csv,labelled\n")


def parameters(args: tuple[str, ...]) -> dict:
    """What Nextflow makes of them: a name that no value follows is true."""
    pairs = zip_longest(args, args[1:], fillvalue="--")
    return {
        name[2:]: True if value.startswith("--") else value for name, value in pairs if name.startswith("--")
    }


@pytest.fixture(scope="module")
def refusals(tmp_path_factory) -> list[str | None]:
    """What the checks say to each case. One run, as the start of Nextflow takes longer than all of them."""
    folder = tmp_path_factory.mktemp("refusals")
    prepare(folder)
    return checked_cases(folder, [parameters(args) for args, _ in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: " ".join(CASES[number][0]) or "none")
def test_parameters_are_refused(refusals, number):
    assert len(refusals) == len(CASES)
    assert CASES[number][1] in (refusals[number] or "")


@pytest.mark.parametrize(("args", "sentence"), [CASES[1]])
def test_a_refused_run_prints_one_sentence_and_starts_nothing(tmp_path, args, sentence):
    prepare(tmp_path)
    run = run_pipeline(tmp_path, *args)
    assert run.status == 1, run.output
    assert "Submitted process" not in run.output
    (said,) = [line for line in run.output.partition("revision: ")[2].splitlines()[1:] if line]
    assert sentence in said
