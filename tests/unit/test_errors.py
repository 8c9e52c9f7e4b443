"""What a user is told is one line, whatever the input's words hold."""

import pytest

from airrvec.core.errors import LONGEST, InputError, exit_on_input_error


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
