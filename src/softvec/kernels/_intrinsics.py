"""LLVM instructions that Numba does not expose: cache prefetch and half-precision conversion.

Half-precision numbers travel as ``uint16`` (Numba has no CPU float16). The conversions become one vector
instruction on x86 with F16C and on ARM, and LLVM vectorises them inside ordinary loops.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


@intrinsic
def prefetch(typingctx, array, row):
    """Ask for the cache lines of ``array[row, :]`` (C-contiguous); never faults, returns nothing."""
    if not (isinstance(array, types.Array) and array.ndim == 2):
        return None
    itemsize = array.dtype.bitwidth // 8

    def codegen(context, builder, signature, args):
        struct = context.make_array(array)(context, builder, args[0])
        columns = cgutils.unpack_tuple(builder, struct.shape)[1]
        i8, i32, i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        base = builder.ptrtoint(struct.data, i64)
        row_bytes = builder.mul(columns, ir.Constant(i64, itemsize))
        index = args[1] if args[1].type == i64 else builder.sext(args[1], i64)
        base = builder.add(base, builder.mul(index, row_bytes))
        kind = ir.FunctionType(ir.VoidType(), [i8.as_pointer(), i32, i32, i32])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        lines = builder.udiv(builder.add(row_bytes, ir.Constant(i64, 63)), ir.Constant(i64, 64))
        with cgutils.for_range(builder, lines, intp=i64) as loop:
            address = builder.add(base, builder.mul(loop.index, ir.Constant(i64, 64)))
            pointer = builder.inttoptr(address, i8.as_pointer())
            # read, high locality, data cache
            builder.call(hint, [pointer, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, row), codegen


@intrinsic
def half_to_single(typingctx, bits):
    """Read the 16 bits of a half-precision number as a float32."""
    if bits != types.uint16:
        return None

    def codegen(context, builder, signature, args):
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), codegen


@intrinsic
def single_to_half(typingctx, value):
    """Round a float32 to half precision and return its 16 bits."""
    if value != types.float32:
        return None

    def codegen(context, builder, signature, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), codegen


def load(value):
    """Return a stored number as a floating one: uint16 is half precision, anything else is itself."""
    raise TypeError("only for use inside compiled kernels")


@overload(load, inline="always")
def _load(value):
    if value == types.uint16:
        return lambda value: half_to_single(value)
    return lambda value: value


def store(array, i, j, value):
    """Write ``value`` to ``array[i, j]``, rounded to half precision where the array is uint16."""
    raise TypeError("only for use inside compiled kernels")


@overload(store, inline="always")
def _store(array, i, j, value):
    if array.dtype == types.uint16:

        def to_half(array, i, j, value):
            array[i, j] = single_to_half(value)

        return to_half

    def plain(array, i, j, value):
        array[i, j] = value

    return plain
