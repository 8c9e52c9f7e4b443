"""What a user is told is one line, whatever the input's words hold."""

import json
import pickle

from airrvec.core.errors import LONGEST, InputError, exit_on_input_error

import pytest


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("a\nERROR: b", "a\\nERROR: b"),
        ("\x1b[2Ja", "\\x1b[2Ja"),
        ("a\u2028\u202eb", "a\\u2028\\u202eb"),
        ("\ud800", "\\ud800"),
        ("αβ é", "αβ é"),
    ],
)
def test_characters_that_a_terminal_obeys_are_shown_by_their_codes(word, shown, capsys):
    @exit_on_input_error
    def main(argv):
        raise InputError("missing", column=word)

    with pytest.raises(SystemExit, match=r"^1$"):
        main([])
    assert capsys.readouterr().err == f"ERROR: column '{shown}': missing.\n"


def test_a_long_word_leaves_room_for_problem_and_fix():
    message = str(InputError("missing", column="x" * 10**6, fix="Correct the column map"))
    assert len(message) < LONGEST + 10
    assert message.startswith("column 'xxx")
    assert message.endswith("': missing. Correct the column map.")


@pytest.mark.parametrize(
    "error",
    [
        InputError("is empty", fix="Fill it", file="a/b.csv", row=3, column="x\ny"),
        InputError("problems in the input", reasons=["a is bad.", "b is bad."]),
    ],
)
def test_an_error_is_the_same_in_another_process(error):
    copies = (
        pickle.loads(pickle.dumps(error)),  # noqa: S301 - its own
        InputError(**json.loads(json.dumps(error.described))),
    )
    for again in copies:
        assert (str(again), again.described) == (str(error), error.described)


def test_several_reasons_take_one_line_each():
    reasons = ["a is bad.", "b is bad."]
    assert str(InputError("problems", reasons=reasons)) == "2 problems:\n- a is bad.\n- b is bad."
    assert str(InputError("problems", reasons=reasons[:1])) == "a is bad."
