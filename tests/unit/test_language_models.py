"""Vectors of language models, on small models of the same classes, against a plain loop over sequences."""

import pickle
from pathlib import Path

from airrvec import encoders
from airrvec.core import schema
from airrvec.core.chains import on_chains
from airrvec.core.errors import InputError
from airrvec.encoders import language_model
from airrvec.input import germline
from airrvec.model.tokens import AMINO_ACIDS

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, EsmConfig, EsmForMaskedLM

BERT_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"LAGVESIKRDTPNQFYMHCWXUBZO"]
ESM_VOCABULARY = [
    *("<cls>", "<pad>", "<eos>", "<unk>"),
    *"LAGVSERTIDPKQNFYMHWCXBUZO.-",
    *("<null_1>", "<mask>"),
]
NAMES = ("tcr_bert", "esm2", "protbert")


def bert(n_layers: int):
    config = BertConfig(
        vocab_size=len(BERT_VOCABULARY),
        hidden_size=16,
        num_hidden_layers=n_layers,
        num_attention_heads=2,
        intermediate_size=32,
    )
    return BertForMaskedLM(config)


def esm():
    config = EsmConfig(
        vocab_size=len(ESM_VOCABULARY),
        pad_token_id=1,
        mask_token_id=32,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        position_embedding_type="rotary",
        token_dropout=True,
    )
    return EsmForMaskedLM(config)


def save(model, folder: Path, vocabulary: list[str], pickled: bool = False) -> None:
    """As on the hub, where some repositories hold safetensors, others a pickled file."""
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    if pickled:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()


@pytest.fixture(scope="module")
def models() -> dict:
    torch.manual_seed(1)
    made = {"tcr_bert": bert(10), "esm2": esm(), "protbert": bert(2)}
    with torch.no_grad():
        for model in made.values():
            for weights in model.parameters():
                weights += 0.3 * torch.randn_like(weights)  # far from what initialisation gives
    return {name: model.eval() for name, model in made.items()}


@pytest.fixture(scope="module")
def hub(models, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    save(models["tcr_bert"], folder / "tcr-bert", BERT_VOCABULARY, pickled=True)
    save(models["esm2"], folder / "esm2_t6_8M_UR50D", ESM_VOCABULARY)
    # As the hub's own client keeps it.
    cached = folder / "models--Rostlab--prot_bert"
    save(models["protbert"], cached / "snapshots" / "0a1b", BERT_VOCABULARY)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0a1b")
    return folder


@pytest.fixture(scope="module")
def receptors() -> pa.Table:
    rng = np.random.default_rng(3)

    def junction() -> str:
        return "C" + "".join(rng.choice(list(AMINO_ACIDS), rng.integers(6, 22))) + "F"

    rows = [
        {
            "receptor_id": f"r{number}",
            "species": "homosapiens",
            "tra_v_call": "TRAV12-2*01",
            "tra_j_call": "TRAJ24*01",
            "tra_junction_aa": junction(),
            "trb_v_call": ("TRBV19*01", "TRBV6-5")[number % 2],
            "trb_j_call": "TRBJ2-7*01",
            "trb_junction_aa": junction(),
        }
        for number in range(9)
    ]
    return pa.Table.from_pylist([*rows, {**rows[2], "receptor_id": "again"}], schema.RECEPTORS)


def plain_vector(model, name: str, sequence: str) -> np.ndarray:
    """One sequence by itself, through the ids of its residues."""
    vocabulary = ESM_VOCABULARY if name == "esm2" else BERT_VOCABULARY
    first, last = ("<cls>", "<eos>") if name == "esm2" else ("[CLS]", "[SEP]")
    ids = torch.tensor([[vocabulary.index(token) for token in (first, *sequence, last)]])
    with torch.no_grad():
        states = model.base_model(
            ids, output_hidden_states=True
        ).hidden_states  # the input's, then each layer's
    return states[8 if name == "tcr_bert" else -1][0, 1:-1].mean(0).numpy()


def chain(row: dict, name: str, locus: str) -> str:
    junction = row[f"{locus}_junction_aa"]
    if name == "tcr_bert":
        return junction
    return germline.chain_sequence(row[f"{locus}_v_call"], row[f"{locus}_j_call"], junction, "homosapiens")


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_those_of_a_plain_loop(models, hub, receptors, name, monkeypatch):
    monkeypatch.setattr(language_model, "BATCH_TOKENS", 300)  # several batches, with padding in each
    expected = [
        np.concatenate(
            [plain_vector(models[name], name, chain(row, name, locus)) for locus in ("tra", "trb")]
        )
        for row in receptors.to_pylist()
    ]
    vectors = encoders.load(name, hub_cache=hub).embed(receptors)
    assert vectors.dtype == np.float32
    assert vectors.std(axis=0).min() > 1e-3
    np.testing.assert_allclose(vectors, expected, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_padding_changes_nothing(hub, receptors, name, monkeypatch):
    encoder = encoders.load(name, hub_cache=hub)
    together = encoder.embed(receptors)
    monkeypatch.setattr(language_model, "BATCH_TOKENS", 1)
    np.testing.assert_allclose(encoder.embed(receptors), together, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_chain_that_is_not_there_has_no_vector(hub, receptors, name):
    encoder = encoders.load(name, hub_cache=hub)
    both = encoder.embed(receptors)
    alpha, beta = (encoder.embed(on_chains(receptors, chains)) for chains in ("alpha", "beta"))
    np.testing.assert_allclose(np.concatenate([alpha, beta], axis=1), both, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_junction_that_some_lack_cannot_be_measured(hub, receptors, name):
    one = on_chains(receptors.slice(0, 1), "beta")
    with pytest.raises(encoders.NotMeasurable, match="for all receptors or for none; 'r0' lacks it"):
        encoders.load(name, hub_cache=hub).embed(pa.concat_tables([one, receptors.slice(1)]))


def test_a_gene_without_a_sequence_cannot_be_measured(hub, receptors):
    index = receptors.column_names.index("trb_v_call")
    made = receptors.set_column(index, "trb_v_call", pa.array(["TRBV99*01"] * len(receptors)))
    with pytest.raises(encoders.NotMeasurable, match=r"no sequence of TRBV99\*01 is known in homosapiens"):
        encoders.load("esm2", hub_cache=hub).embed(made)


def test_batches_hold_each_row_once_and_keep_to_their_size():
    lengths = np.random.default_rng(0).integers(5, 400, 500).tolist()
    batches = list(language_model._batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(500))
    sizes = [len(batch) * (max(lengths[row] for row in batch) + 2) for batch in batches]
    assert max(sizes) <= language_model.BATCH_TOKENS
    assert min(sizes[:-1]) > language_model.BATCH_TOKENS / 2


@pytest.mark.parametrize("hub_cache", [None, "nowhere"])
def test_missing_weights_are_named_with_the_command_to_get_them(tmp_path, hub_cache):
    with pytest.raises(InputError, match=r"hf download wukevin/tcr-bert --local-dir HUB/tcr-bert"):
        encoders.load("tcr_bert", hub_cache=hub_cache and tmp_path / hub_cache)


def test_weights_that_are_missing_in_part_are_refused(models, tmp_path):
    folder = tmp_path / "prot_bert"
    save(models["protbert"], folder, BERT_VOCABULARY, pickled=True)
    weights = torch.load(folder / "pytorch_model.bin")
    del weights["bert.encoder.layer.1.output.dense.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"is not ProtBert: it lacks encoder.layer.1.output.dense.weight"):
        encoders.load("protbert", hub_cache=tmp_path)


def test_a_model_with_too_few_layers_is_refused(models, tmp_path):
    save(models["protbert"], tmp_path / "tcr-bert", BERT_VOCABULARY)
    with pytest.raises(InputError, match="is not TCR-BERT: it has 2 layers, the paper uses layer 8"):
        encoders.load("tcr_bert", hub_cache=tmp_path)


def test_a_tokeniser_without_residues_is_refused(models, tmp_path):
    save(models["protbert"], tmp_path / "prot_bert", [word.lower() for word in BERT_VOCABULARY[5:]])
    (tmp_path / "prot_bert" / "vocab.txt").write_text(
        "\n".join([*BERT_VOCABULARY[:5], *(word.lower() for word in BERT_VOCABULARY[5:])])
    )
    with pytest.raises(InputError, match="lacks some of the twenty amino acids"):
        encoders.load("protbert", hub_cache=tmp_path)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b""])
@pytest.mark.parametrize("name", ["esm2", "protbert"])
def test_a_folder_without_a_readable_tokeniser_is_refused(models, tmp_path, name, content):
    folder = tmp_path / language_model.MODELS[name].repository.split("/")[1]
    save(models[name], folder, ESM_VOCABULARY if name == "esm2" else BERT_VOCABULARY)
    (folder / "vocab.txt").unlink()
    if content is not None:
        (folder / "vocab.txt").write_bytes(content)
    with pytest.raises(InputError, match="tokeniser"):
        encoders.load(name, hub_cache=tmp_path)


def test_code_in_weights_is_not_run(models, tmp_path):
    folder = tmp_path / "prot_bert"
    save(models["protbert"], folder, BERT_VOCABULARY, pickled=True)
    trap = tmp_path / "sprung"

    class Trap:
        def __reduce__(self):
            return (Path.touch, (trap,))

    torch.save({"bert.embeddings.word_embeddings.weight": Trap()}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="contain objects other than tensors"):
        encoders.load("protbert", hub_cache=tmp_path)
    assert not trap.exists()
    pickle.loads(pickle.dumps(Trap()))  # noqa: S301 - its own
    assert trap.exists()


@pytest.mark.parametrize(
    ("v_call", "j_call", "junction", "expected"),
    [
        (
            "TRBV19*01",
            "TRBJ2-7*01",
            "CASSIRSSYEQYF",
            "DGGITQSPKYLFRKEGQNVTLSCEQNLNHDAMYWYRQDPGQGLRLIYYSQIVNDFQKGDIAEGYSVSREKKESFPLTVTSAQKNPTAFYL"
            "CASSIRSSYEQYFGPGTRLTVT",
        ),
    ],
)
def test_a_full_chain_is_v_junction_and_j(v_call, j_call, junction, expected):
    assert germline.chain_sequence(v_call, j_call, junction, "homosapiens") == expected
    gene = v_call.split("*")[0]
    assert germline.chain_sequence(gene, j_call, junction, "homosapiens") == expected
