"""
Vectors rounded to whole numbers of 16 bits, which find candidates for neighbours.

A processor with AVX2 multiplies up to twice as many of them as of float32. What is found is as exact as
without: rounding is allowed for by a slack, and distances are computed from the vectors. Nearest neighbours:
`Rounded`; those within a radius: `ShortProducts`.
"""

from dataclasses import dataclass

from airrvec.core.compiled import compiled, inlined
from airrvec.core.environment import compiled_features
from airrvec.model.cpu.kernels import pack_weights
from airrvec.model.cpu.lanes import LANES

import numpy as np

ROUNDED = "avx2" in compiled_features()  # sixteen products at once, where there are eight of float32

# Length of the longest reference, and most of a query: no product exceeds `HIGHEST`, nor any sum 2^31.
REFERENCE, QUERY = 20_000, 32_000
HIGHEST = np.float32(9e8)  # above all products of references, below those of places without one
SQUARE = 32_767  # half of the squares is a number of such units and a rest
FEWEST = 512  # queries for which rounding the references pays


@dataclass(frozen=True)
class Rounded:
    """
    References rounded as finely as the longest of them allows.

    With S = `REFERENCE` / L, where L is the greatest distance of a reference from their centre c, the product
    of a query q and a reference r is S² (|r − c|² / 2 − (r − c) · (q − c)), which rises with their distance.
    By rounding it is wrong by at most half of the slack: no reference among the nearest has a product that
    exceeds that of another by more.

    Attributes
    ----------
    columns : ndarray of int32, shape (⌈d / 2⌉ + 1, m)
        Pairs of numbers of 16 bits, the first in the lower half: −S (r − c), and S² |r − c|² / 2 as units of
        `SQUARE` and a rest.
    centre : ndarray of float64, shape (d,)
    scale : float
        S.
    slack : float32
        Products that are no farther apart may be in the wrong order.
    """

    columns: np.ndarray
    centre: np.ndarray
    scale: float
    slack: np.float32
    highest = HIGHEST

    @classmethod
    def from_vectors(cls, references: np.ndarray, n: int) -> "Rounded":
        """
        Return rounded references.

        Parameters
        ----------
        references : ndarray of float32, shape (m, d)
        n : int
            The first n are references, and the others places without one.
        """
        m, d = references.shape
        centre = references[:n].mean(axis=0, dtype=np.float64)
        scale = REFERENCE / max(np.sqrt(_longest_square(references[:n], centre)), 1e-30)
        # Of the rounding of both vectors, of half of the squares, and of distances in float32.
        slack = (REFERENCE + QUERY) * np.sqrt(d) + d + 1 + 1e-7 * d * (REFERENCE + QUERY) ** 2
        columns = np.empty((-(-d // 2) + 1, m), np.int32)
        _round(references[:n], centre, scale, columns)
        columns[:, n:] = _pairs(np.zeros((1, d)), np.array([[SQUARE, SQUARE]])).T
        return cls(columns, centre, scale, np.float32(slack))

    def packed(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return queries, shape (n, d), in the order in which `airrvec.search.collecting.collect` reads them.

        Returns
        -------
        packed : ndarray of int32, shape (n / ROWS, ⌈d / 2⌉ + 1, ROWS)
        is_short : ndarray of bool, shape (n,)
            Whether a query is near enough for products of 32 bits; the others are zeros.
        """
        vectors = (queries - self.centre) * self.scale
        is_short = (vectors**2).sum(axis=1) <= QUERY**2
        vectors[~is_short] = 0
        return pack_weights(_pairs(vectors, np.array([[SQUARE, 1]]))), is_short


@compiled
def _longest_square(vectors, centre):
    """Return the greatest square of the distance of a vector, shape (n, d), from the centre."""
    longest = 0.0
    for row in range(len(vectors)):
        square = 0.0
        for i in range(len(centre)):
            square += (vectors[row, i] - centre[i]) ** 2
        longest = max(longest, square)
    return longest


@compiled
def _round(vectors, centre, scale, columns):
    """Set the first columns of ``columns`` to those of vectors, shape (n, d), as of `Rounded`."""
    n, d = vectors.shape
    halves = np.empty(LANES)
    for start in range(0, n, LANES):
        stop = min(start + LANES, n)
        halves[:] = 0
        for pair in range(len(columns) - 1):
            for row in range(start, stop):
                first, second = 2 * pair, 2 * pair + 1
                x = (centre[first] - vectors[row, first]) * scale
                y = (centre[second] - vectors[row, second]) * scale if second < d else 0.0
                halves[row - start] += (x * x + y * y) / 2
                columns[pair, row] = _pair(np.rint(x), np.rint(y))
        for row in range(start, stop):
            half = np.rint(halves[row - start])
            columns[-1, row] = _pair(half // SQUARE, half % SQUARE)


@inlined
def _pair(first, second):
    """Return two whole numbers of 16 bits as one of 32, the first in the lower half."""
    return np.int32((np.int64(second) << 16) | (np.int64(first) & 0xFFFF))


SHORT = 15_000  # length of the longest short vector
FAR = -31_000  # units of `SQUARE`: below what any limit adds


@dataclass(frozen=True)
class ShortProducts:
    """
    How short vectors q and r are multiplied: (q, 1, limit / 2 − q · q / 2) times (r, −r · r / 2, 1).

    The product is half of limit − |q − r|², at least 0 for each pair within the limit.

    Attributes
    ----------
    scale : float
        Vectors are multiplied by it and rounded; 0 if they are not.
    constants : ndarray of float32 or int32, shape (3,)
        1; what excludes a place without a row; half of the limit.
    """

    scale: float
    constants: np.ndarray

    @classmethod
    def within(cls, limit: float, longest: float, p: int) -> "ShortProducts":
        """
        Return the products for a limit.

        Parameters
        ----------
        limit : float
            Greatest squared distance of short vectors.
        longest : float
            Greatest length of a short vector.
        p : int
            Numbers of a short vector.
        """
        if not ROUNDED:
            return cls(0.0, np.array([1, -1e30, limit / 2], np.float32))
        scale = SHORT / max(longest, 1e-30)
        slack = SHORT * np.sqrt(p) + p + 2  # of the rounding of both vectors and of their squares
        half = np.ceil((min(limit, (2.1 * longest) ** 2) * scale**2 / 2 + slack) / SQUARE)
        return cls(scale, _words(np.array([[1, SQUARE], [0, FAR], [0, half]])).ravel())

    def numbers(self, short: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return short vectors s, shape (n, p), as they are multiplied, and −s · s / 2, shape (n,)."""
        halves = np.einsum("nd,nd->n", short, short, dtype=np.float64) / -2
        if not self.scale:
            return short, halves.astype(np.float32)
        units, rest = np.divmod(np.rint(halves * self.scale**2), SQUARE)
        return _words(short * self.scale), _words(np.stack([rest, units], axis=1))[:, 0]


def _words(numbers: np.ndarray) -> np.ndarray:
    """Return numbers, shape (n, p), rounded, in pairs of 16 bits: int32, shape (n, ⌈p / 2⌉)."""
    n, p = numbers.shape
    rounded = np.zeros((n, p + p % 2), np.int16)
    rounded[:, :p] = np.rint(numbers)
    return rounded.view(np.int32)


def _pairs(vectors: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return vectors, shape (n, d), and two more numbers of each: int32, shape (n, ⌈d / 2⌉ + 1)."""
    words = _words(vectors)
    return np.concatenate([words, np.broadcast_to(_words(last), (len(words), 1))], axis=1)
