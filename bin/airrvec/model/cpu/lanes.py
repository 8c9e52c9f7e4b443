"""
Vectors of 16 float32, a type that numba compiles to the processor's vector instructions.

LLVM vectorises a plain loop only if its heuristics allow, and did not for attention over heads of 8
dimensions. Here the vectors are explicit: `load`, `add`, `multiply` … work on 16 numbers at once (one AVX-512
register, two of AVX2, four of NEON), which stay in registers between operations.
"""

from collections.abc import Callable
from typing import Any

from airrvec.core.environment import compiled_features

import numba.extending
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

LANES = 16
# Block of a product that is summed at once, in registers: rows, and columns in units of 16.
# AVX-512 has 32 registers of 16 numbers, AVX2 16 of 8.
ROWS, COLUMNS = (8, 2) if "avx512f" in compiled_features() else (6, 1)
# Block of sums of products of two vectors, in registers: of the first, of the second.
FIRSTS, SECONDS = (6, 4) if "avx512f" in compiled_features() else (3, 2)
# Numbers may be summed in any order, as in a vectorised sum.
_FAST = ("fast",)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(32), LANES)
_INDEX = ir.IntType(64)
# 2^f for f from -1/2 to 1/2, by Chebyshev interpolation; highest power first, relative error 1e-7.
_POWER_OF_TWO = (0.0013390863, 0.009676032, 0.05550357, 0.24022107, 0.6931472, 1.0000001)


def intrinsic(function: Callable) -> Callable[..., Any]:  # Any: numba's type has the typing context in front
    """Return numba's intrinsic of a function; its calls are without the first parameter."""
    return numba.extending.intrinsic(function)


class _Lanes(types.Type):
    pass


_lanes = _Lanes("Lanes")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, _FLOATS)


def _constant(number: float):
    return _FLOATS([number] * LANES)


def _address(context, builder, array_type, array, row, column):
    """Return the address of 16 neighbours in a C-contiguous two-dimensional array."""
    array = context.make_array(array_type)(context, builder, array)
    n_rows, n_columns = (builder.extract_value(array.shape, axis) for axis in (0, 1))
    if context.enable_boundscheck:  # NUMBA_BOUNDSCHECK=1, in tests
        for index, size in ((row, n_rows), (column, n_columns), (_last(builder, column), n_columns)):
            cgutils.do_boundscheck(context, builder, index, size)
    place = builder.add(builder.mul(row, n_columns), column)
    return builder.bitcast(builder.gep(array.data, [place]), _FLOATS.as_pointer())


def _last(builder, column):
    """Return the last of 16 columns."""
    return builder.add(column, _INDEX(LANES - 1))


@intrinsic
def load(_, array, row, column):
    """Return ``array[row, column : column + 16]``."""

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=4)

    return _lanes(array, types.int64, types.int64), generate


@intrinsic
def store(_, array, row, column, x):
    """Set ``array[row, column : column + 16] = x``."""

    def generate(context, builder, signature, arguments):
        *place, x = arguments
        builder.store(x, _address(context, builder, signature.args[0], *place), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, x), generate


@intrinsic
def fill(_, number):
    """Return the same number 16 times."""

    def generate(context, builder, signature, arguments):
        return _filled(builder, arguments[0])

    return _lanes(types.float32), generate


def _filled(builder, number):
    first = builder.insert_element(_FLOATS(ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, _FLOATS(ir.Undefined), _INTEGERS(None))


def _operation(name: str, description: str):
    """Return a function of two vectors that uses LLVM's instruction ``name``."""

    def function(_, x, y):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments, flags=_FAST)

        return _lanes(_lanes, _lanes), generate

    function.__doc__ = description
    return intrinsic(function)


add = _operation("fadd", "x + y.")
subtract = _operation("fsub", "x - y.")
multiply = _operation("fmul", "x · y.")
divide = _operation("fdiv", "x / y.")


@intrinsic
def maximum(_, x, y):
    """Return the larger of x and y, lane by lane."""

    def generate(context, builder, signature, arguments):
        return _larger(builder, *arguments)

    return _lanes(_lanes, _lanes), generate


def _larger(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y, flags=_FAST), x, y)


@intrinsic
def inverse_root(_, x):
    """Return 1 / √x."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_FLOATS, [_FLOATS])
        root = builder.module.declare_intrinsic(f"llvm.sqrt.v{LANES}f32", (), kind)
        return builder.fdiv(_constant(1.0), builder.call(root, arguments))

    return _lanes(_lanes), generate


@intrinsic
def at_most(_, x, number):
    """Return an integer whose 16 lowest bits mark the lanes that do not exceed a number."""

    def generate(context, builder, signature, arguments):
        x, number = arguments
        lanes = builder.fcmp_ordered("<=", x, _filled(builder, number), flags=_FAST)
        return builder.zext(builder.bitcast(lanes, ir.IntType(LANES)), _INDEX)

    return types.int64(_lanes, types.float32), generate


@intrinsic
def lowest_bit(_, bits):
    """Return the number of the lowest bit that is set, of an integer that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


@intrinsic
def power_of_two(_, x):
    """Return 2^x for x ≤ 0: the integer part sets the exponent bits, a polynomial gives the rest."""

    def generate(context, builder, signature, arguments):
        x = _larger(builder, arguments[0], _constant(-125.0))  # 2^-125 is as good as 0
        whole = builder.fptosi(builder.fsub(x, _constant(0.5)), _INTEGERS)
        rest = builder.fsub(x, builder.sitofp(whole, _FLOATS), flags=_FAST)
        power = _constant(_POWER_OF_TWO[0])
        for coefficient in _POWER_OF_TWO[1:]:
            power = builder.fadd(builder.fmul(power, rest, flags=_FAST), _constant(coefficient), flags=_FAST)
        exponent = builder.shl(whole, _INTEGERS([23] * LANES))
        return builder.bitcast(builder.add(builder.bitcast(power, _INTEGERS), exponent), _FLOATS)

    return _lanes(_lanes), generate


class _BFloat(ir.Type):
    """LLVM's type bfloat16, which llvmlite lacks: the upper half of a float32."""

    def __str__(self):
        return "bfloat"


_BFLOATS = ir.VectorType(_BFloat(), 2 * LANES)


@intrinsic
def pairs(_, x, y):
    """Return 16 pairs (x, y), rounded to bfloat16 and stored as 16 float32."""

    def generate(context, builder, signature, arguments):
        half = _INTEGERS([1 << 15] * LANES)  # half of the last bit that stays
        x, y = (builder.add(builder.bitcast(part, _INTEGERS), half) for part in arguments)
        upper = _INTEGERS([0xFFFF0000] * LANES)
        both = builder.or_(builder.lshr(x, _INTEGERS([16] * LANES)), builder.and_(y, upper))
        return builder.bitcast(both, _FLOATS)

    return _lanes(_lanes, _lanes), generate


def _add_product(builder, total, x, y):
    return builder.fadd(total, builder.fmul(x, y, flags=_FAST), flags=_FAST)


def _add_products_of_pairs(builder, total, x, y):
    kind = ir.FunctionType(_FLOATS, [_FLOATS, _BFLOATS, _BFLOATS])
    function = builder.module.declare_intrinsic("llvm.x86.avx512bf16.dpbf16ps.512", (), kind)
    return builder.call(function, [total, builder.bitcast(x, _BFLOATS), builder.bitcast(y, _BFLOATS)])


_SHORTS = ir.VectorType(ir.IntType(16), 2 * LANES)
_WIDE = ir.VectorType(ir.IntType(32), 2 * LANES)


def _add_whole_products_of_pairs(builder, total, x, y):
    """LLVM makes of it pmaddwd or vpdpwssd, which multiply twice as many numbers as those of float32."""
    x, y = (builder.sext(builder.bitcast(part, _SHORTS), _WIDE) for part in (x, y))
    products = builder.mul(x, y)
    first, second = (
        builder.shuffle_vector(products, _WIDE(ir.Undefined), _INTEGERS([*range(start, 2 * LANES, 2)]))
        for start in (0, 1)
    )
    total = builder.add(builder.bitcast(total, _INTEGERS), builder.add(first, second))
    return builder.bitcast(total, _FLOATS)


def _as_float(builder, total):
    return builder.sitofp(builder.bitcast(total, _INTEGERS), _FLOATS)


def _block_product(
    add_product, n_columns: int, description: str, *, with_bias: bool = False, finish: Callable | None = None
):
    """Return a function that computes `ROWS` rows and ``n_columns`` times 16 columns of a product."""
    places = [(row, column) for row in range(ROWS) for column in range(n_columns)]

    def generate(context, builder, signature, arguments):
        weight_type, x_type, out_type = signature.args[:3]
        weight, x, out, first_row, first_column, *bias = arguments
        # Variables that LLVM keeps in registers.
        totals = {place: cgutils.alloca_once(builder, _FLOATS) for place in places}
        for (r, _), total in totals.items():
            start = _FLOATS(None)
            if bias:
                biases = context.make_array(signature.args[-1])(context, builder, bias[0])
                place = builder.gep(biases.data, [builder.add(first_row, _INDEX(r))])
                start = _filled(builder, builder.load(place))
            builder.store(start, total)
        weights = context.make_array(weight_type)(context, builder, weight)
        numbers = builder.bitcast(weights.data, ir.FloatType().as_pointer())
        if context.enable_boundscheck:
            size = builder.extract_value(weights.shape, 1)
            cgutils.do_boundscheck(context, builder, _INDEX(ROWS - 1), size)
        with cgutils.for_range(builder, builder.extract_value(weights.shape, 0)) as loop:
            step = loop.index
            columns = [
                builder.load(_address(context, builder, x_type, x, step, _INDEX(LANES * n)), align=4)
                for n in range(n_columns)
            ]
            start = builder.mul(step, _INDEX(ROWS))
            for (r, c), total in totals.items():
                number = builder.load(builder.gep(numbers, [builder.add(start, _INDEX(r))]))
                summed = add_product(builder, builder.load(total), columns[c], _filled(builder, number))
                builder.store(summed, total)
        for (r, c), total in totals.items():
            place = builder.add(first_row, _INDEX(r)), builder.add(first_column, _INDEX(LANES * c))
            address = _address(context, builder, out_type, out, *place)
            value = builder.load(total)
            builder.store(finish(builder, value) if finish else value, address, align=4)
        return context.get_dummy_value()

    def function(_, weight, x, out, row, column):
        return types.void(weight, x, out, types.int64, types.int64), generate

    def function_with_bias(_, weight, x, out, row, column, bias):
        return types.void(weight, x, out, types.int64, types.int64, bias), generate

    chosen = function_with_bias if with_bias else function
    chosen.__doc__ = description
    return intrinsic(chosen)


_DESCRIPTION = """
Set ``out[row : row + ROWS, column : column + 16 COLUMNS] = weight.T @ x``{}.

Parameters
----------
weight : array, shape (n, ROWS)
x : array, shape (n, 16 COLUMNS)
"""
_PLUS = " ``+ bias[row : row + ROWS]``"
multiply_block = _block_product(_add_product, COLUMNS, _DESCRIPTION.format(""))
multiply_and_add = _block_product(_add_product, COLUMNS, _DESCRIPTION.format(_PLUS), with_bias=True)
multiply_pairs_and_add = _block_product(
    _add_products_of_pairs,
    COLUMNS,
    _DESCRIPTION.format(_PLUS) + "Both factors in pairs of bfloat16.",
    with_bias=True,
)
multiply_whole_pairs = _block_product(
    _add_whole_products_of_pairs,
    COLUMNS,
    _DESCRIPTION.format("") + "Both factors in pairs of int16, sums in int32 and then rounded to float32.",
    finish=_as_float,
)


def _sums_of_products(n_firsts: int, n_seconds: int):
    """Return a function that sums products of each of some vectors and each of others."""
    sums = [(i, j) for i in range(n_firsts) for j in range(n_seconds)]

    def generate(context, builder, signature, arguments):
        def part(number: int, place, step, *jumps):
            """Return the address of a vector: the start of the place, so many steps on, and jumps."""
            array = context.make_array(signature.args[number])(context, builder, arguments[number])
            offset = builder.extract_value(place, 0)
            for name, count in enumerate((step, *jumps), start=1):
                offset = builder.add(offset, builder.mul(builder.extract_value(place, name), count))
            if context.enable_boundscheck:
                size = builder.mul(*(builder.extract_value(array.shape, axis) for axis in (0, 1)))
                for index in (offset, _last(builder, offset)):
                    cgutils.do_boundscheck(context, builder, index, size)
            return builder.bitcast(builder.gep(array.data, [offset]), _FLOATS.as_pointer())

        _, first, _, second, _, out, n = arguments
        totals = {place: cgutils.alloca_once_value(builder, _FLOATS(None)) for place in sums}
        for total in totals.values():
            builder.store(_FLOATS(None), total)
        with cgutils.for_range(builder, n) as loop:
            x = [builder.load(part(0, first, loop.index, _INDEX(i)), align=4) for i in range(n_firsts)]
            y = [builder.load(part(2, second, loop.index, _INDEX(j)), align=4) for j in range(n_seconds)]
            for (i, j), total in totals.items():
                builder.store(_add_product(builder, builder.load(total), x[i], y[j]), total)
        for (i, j), total in totals.items():
            builder.store(builder.load(total), part(4, out, _INDEX(i), _INDEX(j)), align=4)
        return context.get_dummy_value()

    def function(_, x, x_place, y, y_place, out, out_place, n):
        """
        Set ``out[i, j] = Σ x[step, i] · y[step, j]``, each a vector of 16 numbers.

        Parameters
        ----------
        x, y, out : array, two-dimensional
        x_place, y_place : tuple of three int
            Number of the first vector's first number; from one step to the next, and from one i or j.
        out_place : tuple of three int
            The same: the first number, from one i, and from one j to the next.
        n : int
            Steps.
        """
        place = types.UniTuple(types.int64, 3)
        return types.void(x, place, y, place, out, place, types.int64), generate

    return intrinsic(function)


sums_of_block = _sums_of_products(FIRSTS, SECONDS)
sums_of_row = _sums_of_products(1, SECONDS)
sums_of_column = _sums_of_products(FIRSTS, 1)
sum_of_products = _sums_of_products(1, 1)
