"""Changes of tables and bytes; all randomness comes from the `random.Random` given."""

from random import Random

from fuzz.corpus import Table, seeds

_PLAIN_WORDS = r"""
NA None nan null true FALSE 0 1 -1 3.0 1e9 99999999999999999 9999999999999999999999999
human macaque HomoSapiens TRA TRB IGH TRG Multi alpha
TRBV19*01 TRBV19 TRBV7 TRBV12-3,TRBV12-4 TRBV6-2/6-3 TRBV19*99 TRAV14/DV4 TRAV1-1 TCRBV06-XX TRBV V TR
TRBJ2-7 TRAJ33 TRBJ1-1*01 TRBD1 IGHV1-2 TRGV9 TRDV1
CASSIRSSYEQYF ASSIRSSYEQY CAVMDSNYQLIW CASSIRSSYEQYFG C F CF KYF CASS*F CASS_F CASSXF cassirssyeqyf
CÅSSIRSSYEQYF TRA:CAVF;TRB:CASSF TRA: : ; ;; | a|b # ## . * partial αβ é 日本 😀
" "" ' , =1+1 ../../x <b>&amp; $(id) \ \N
"""
# What looks like a blank, ends a line for some programs, or is obeyed by a terminal.
_ODD_WORDS = "\u2028 \x85 \x0b \x0c \x1c \x1b[31m \u202e \ufeff \u00a0"
# Values that a cell may hold, wanted or not; none of them breaks a line.
WORDS = ("", " ", "CA SSF", "Mus musculus", "C" * 61, *_PLAIN_WORDS.split(), *_ODD_WORDS.split(" "))

_PLAIN_BYTES = rb"""{ } [ ] : null NaN 1e999 \ud800 \ # ## " , ; PAR1 BZh"""
_ODD_BYTES = (
    b"\t|\n|\r|\r\n|\n\n|\0|\x0b|\x0c|\xff\xfe|\xef\xbb\xbf|\xe9|\xed\xa0\x80|\x1f\x8b|\xe2\x80\xa8|\xc2\x85"
)
_BYTES = (*_PLAIN_BYTES.split(), *_ODD_BYTES.split(b"|"))


# --- A table that stays rectangular


def _other_word(table: Table, random: Random) -> None:
    row = random.choice(table.rows)
    row[random.randrange(len(row))] = random.choice(WORDS)


def _exchanged_cells(table: Table, random: Random) -> None:
    one, other = random.choice(table.rows), random.choice(table.rows)
    i, j = random.randrange(len(one)), random.randrange(len(other))
    one[i], other[j] = other[j], one[i]


def _changed_cell(table: Table, random: Random) -> None:
    row = random.choice(table.rows)
    i = random.randrange(len(row))
    value = row[i]
    at = random.randrange(len(value) + 1)
    row[i] = random.choice(
        [
            value.lower(),
            value[:at],
            value[at:],
            value[:at] + random.choice(WORDS) + value[at:],
            value * 2,
            f" {value}",
        ]
    )


def _empty_column(table: Table, random: Random) -> None:
    i = random.randrange(len(table.header[0]))
    for row in table.rows:
        row[i] = random.choice(["", "", "NA", row[i]])


def _copied_row(table: Table, random: Random) -> None:
    for _ in range(random.choice([1, 1, 2, 20])):
        table.rows.insert(random.randrange(len(table.rows) + 1), list(random.choice(table.rows)))


def _removed_row(table: Table, random: Random) -> None:
    if len(table.rows) > 1:
        del table.rows[random.randrange(len(table.rows))]


def _shuffled_rows(table: Table, random: Random) -> None:
    random.shuffle(table.rows)


def _equal_cells(table: Table, random: Random) -> None:
    """All rows get one value in a column, as of a cell or a clone."""
    i, value = random.randrange(len(table.header[0])), random.choice(table.rows)
    for row in table.rows:
        row[i] = value[i]


def _empty_row(table: Table, random: Random) -> None:
    row = random.choice(table.rows)
    row[:] = [""] * len(row)


_RECTANGULAR = (
    *(_other_word, _other_word, _exchanged_cells, _changed_cell, _changed_cell, _empty_column),
    *(_copied_row, _removed_row, _shuffled_rows, _equal_cells, _empty_row),
)


# --- A table that may lose its shape


def _ragged(table: Table, random: Random) -> None:
    row = random.choice([*table.header, *table.rows])
    if random.random() < 0.5:
        del row[random.randrange(len(row)) :]
    else:
        row[random.randrange(len(row) + 1) :] += random.choices(WORDS, k=random.randint(1, 3))


def _other_name(table: Table, random: Random) -> None:
    header = random.choice(table.header)
    header[random.randrange(len(header))] = random.choice(
        [*WORDS, *header, header[0].upper(), "row", "sample"]
    )


def _removed_column(table: Table, random: Random) -> None:
    i = random.randrange(len(table.header[0]))
    for row in [*table.header, *table.rows]:
        del row[i : i + 1]


def _exchanged_names(table: Table, random: Random) -> None:
    random.shuffle(random.choice(table.header))


def _removed_header(table: Table, random: Random) -> None:
    table.header.pop()


def _no_rows(table: Table, random: Random) -> None:
    table.rows.clear()


def _line_in_cell(table: Table, random: Random) -> None:
    row = random.choice(table.rows)
    row[random.randrange(len(row))] += random.choice(["\n", "\r\n", "\r", "\n\n", '\n"'])


def _long_cell(table: Table, random: Random) -> None:
    row = random.choice([*table.header, *table.rows])
    row[random.randrange(len(row))] += random.choice("AC ,") * random.choice([300, 70_000, 3_000_000])


_SHAPELESS = (
    *(_ragged, _ragged, _other_name, _other_name, _removed_column, _removed_column, _exchanged_names),
    *(_removed_header, _no_rows, _line_in_cell),
)
_RARE = 0.004  # of cases with what takes long


def changed(table: Table, random: Random, *, shapeless: bool = False) -> Table:
    """A copy of a table with some changes, the last of which may take its shape."""
    table = Table([list(row) for row in table.header], [list(row) for row in table.rows], table.delimiter)
    for _ in range(random.choice([1, 1, 2, 3, 6])):
        random.choice(_RECTANGULAR)(table, random)
    for _ in range(random.choice([1, 1, 2, 3]) if shapeless else 0):
        if all([*table.header, *table.rows]) and table.header and table.rows:
            random.choice(_SHAPELESS if random.random() > _RARE else [_long_cell])(table, random)
    return table


# --- Bytes


def changed_bytes(content: bytes, random: Random) -> bytes:
    """The bytes with some changes."""
    changed = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(len(changed) + 1)
        end = at + random.choice([1, 2, 8, 100])
        way = random.randrange(8)
        if way == 0 and changed:
            changed[at % len(changed)] ^= 1 << random.randrange(8)
        elif way == 1:
            changed[at:at] = random.randbytes(random.randint(1, 20))
        elif way == 2:
            del changed[at:end]
        elif way == 3:
            changed[at:end] = random.choice(_BYTES)
        elif way == 4:
            changed[at:at] = random.choice(_BYTES) * random.choice([1, 1, 2, 50])
        elif way == 5:
            changed[at:at] = changed[at:end] * random.choice([1, 2, 10])
        elif way == 6:
            other = random.choice(list(seeds().values()))
            start = random.randrange(len(other) + 1)
            changed[at:at] = other[start : start + random.choice([1, 10, 200])]
        elif random.random() < 0.3:
            del changed[at:]
    return bytes(changed)
