"""Numbers with their nouns."""


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as "1 study" or "1,200 studies"; ``many`` is ``one`` with an s."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
