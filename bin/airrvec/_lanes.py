"""
Sixteen float32 side by side, as a type that numba compiles to the processor's vectors.

LLVM turns a plain loop into vectors where its guesses allow, and failed to for attention over heads of 8
dimensions. Here the vectors are written down: `load`, `add`, `multiply` … work on 16 numbers at once (one
AVX-512 register, two of AVX2, four of NEON), and stay in registers between.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 16
# Numbers may be summed in any order, as a vectorised sum does.
_FAST = ("fast",)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(32), LANES)
# 2^f for f from -1/2 to 1/2, by Chebyshev interpolation; highest power first, relative error 1e-7.
_POWER_OF_TWO = (0.0013390863, 0.009676032, 0.05550357, 0.24022107, 0.6931472, 1.0000001)


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
    """Of 16 neighbours in a C-contiguous two-dimensional array."""
    array = context.make_array(array_type)(context, builder, array)
    place = builder.add(builder.mul(row, builder.extract_value(array.shape, 1)), column)
    return builder.bitcast(builder.gep(array.data, [place]), _FLOATS.as_pointer())


@intrinsic
def load(_, array, row, column):
    """``array[row, column : column + 16]``."""

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=4)

    return _lanes(array, types.int64, types.int64), generate


@intrinsic
def store(_, array, row, column, x):
    """``array[row, column : column + 16] = x``."""

    def generate(context, builder, signature, arguments):
        *place, x = arguments
        builder.store(x, _address(context, builder, signature.args[0], *place), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, x), generate


@intrinsic
def fill(_, number):
    """The same number 16 times."""

    def generate(context, builder, signature, arguments):
        first = builder.insert_element(_FLOATS(ir.Undefined), arguments[0], ir.IntType(32)(0))
        return builder.shuffle_vector(first, _FLOATS(ir.Undefined), _INTEGERS(None))

    return _lanes(types.float32), generate


def _operation(name: str, does: str):
    """A function of two vectors, by the name of LLVM's instruction."""

    def function(_, x, y):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments, flags=_FAST)

        return _lanes(_lanes, _lanes), generate

    function.__doc__ = does
    return intrinsic(function)


add = _operation("fadd", "x + y.")
subtract = _operation("fsub", "x - y.")
multiply = _operation("fmul", "x · y.")
divide = _operation("fdiv", "x / y.")


@intrinsic
def maximum(_, x, y):
    """The larger of x and y."""

    def generate(context, builder, signature, arguments):
        return _larger(builder, *arguments)

    return _lanes(_lanes, _lanes), generate


def _larger(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y, flags=_FAST), x, y)


@intrinsic
def power_of_two(_, x):
    """2^x for x ≤ 0: a whole part, which goes into the exponent's bits, and a polynomial of the rest."""

    def generate(context, builder, signature, arguments):
        x = _larger(builder, arguments[0], _constant(-125.0))  # below it a float32 is as good as 0
        whole = builder.fptosi(builder.fsub(x, _constant(0.5)), _INTEGERS)
        rest = builder.fsub(x, builder.sitofp(whole, _FLOATS), flags=_FAST)
        power = _constant(_POWER_OF_TWO[0])
        for coefficient in _POWER_OF_TWO[1:]:
            power = builder.fadd(builder.fmul(power, rest, flags=_FAST), _constant(coefficient), flags=_FAST)
        exponent = builder.shl(whole, _INTEGERS([23] * LANES))
        return builder.bitcast(builder.add(builder.bitcast(power, _INTEGERS), exponent), _FLOATS)

    return _lanes(_lanes), generate
