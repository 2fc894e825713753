"""LLVM instructions that Numba does not expose: half precision, sums of rows and products in registers.

Half-precision numbers travel as ``uint16`` (Numba has no CPU float16). The conversions become one vector
instruction on x86 with F16C and on ARM, and LLVM vectorises them inside ordinary loops.

The sum of the neighbours' rows uses LLVM vectors: Numba's loop keeps the sums in memory and checks for
overlap in every row, which takes twice as long at d = 32 (2.3 ms instead of 1.2 for 300,000 rows).
"""

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

# Sums are held in registers for so many columns at a time: lanes, and registers of them. 128 columns take
# half of the registers of AVX-512 (4.7 ns for a row in half precision, 6.3 with those of AVX2). LLVM splits
# or joins registers on other machines.
_WIDE = get_host_cpu_features().get("avx512f", False)
_TILES = ((16, 8), (16, 4), (16, 2), (16, 1), (4, 1), (1, 1)) if _WIDE else ((8, 4), (8, 1), (1, 1))
# Of a product: registers for a few rows times so many columns, 24 of them with AVX-512 and 12 elsewhere.
_ROWS = 6
_PRODUCT_TILES = ((16, 4), (16, 2), (16, 1), (4, 1), (1, 1)) if _WIDE else ((8, 2), (8, 1), (4, 1), (1, 1))
_I64 = ir.IntType(64)
# Not "reassoc", which Numba would add: a sum takes its rows in order, whatever the tile.
_IN_ORDER = ("nsz", "contract")


def _const(value):
    return ir.Constant(_I64, value)


def _to_i64(builder, value):
    return value if value.type == _I64 else builder.sext(value, _I64)


def _prefetch(builder, address, size):
    """Prefetch the cache lines of ``size`` bytes at ``address``; never faults."""
    i8, i32 = ir.IntType(8), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [i8.as_pointer(), i32, i32, i32])
    hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    lines = builder.udiv(builder.add(size, _const(63)), _const(64))
    with cgutils.for_range(builder, lines, intp=_I64) as loop:
        line = builder.add(address, builder.mul(loop.index, _const(64)))
        flags = [ir.Constant(i32, value) for value in (0, 3, 1)]  # read, high locality, data cache
        builder.call(hint, [builder.inttoptr(line, i8.as_pointer()), *flags])


@intrinsic
def prefetch(typingctx, array, row):
    """Prefetch the cache lines of ``array[row, :]`` (C-contiguous)."""
    if not (isinstance(array, types.Array) and array.ndim == 2):
        return None
    itemsize = array.dtype.bitwidth // 8

    def codegen(context, builder, signature, args):
        struct = context.make_array(array)(context, builder, args[0])
        columns = cgutils.unpack_tuple(builder, struct.shape)[1]
        row_bytes = builder.mul(columns, _const(itemsize))
        start = builder.mul(_to_i64(builder, args[1]), row_bytes)
        _prefetch(builder, builder.add(builder.ptrtoint(struct.data, _I64), start), row_bytes)
        return context.get_dummy_value()

    return types.void(array, row), codegen


class _RowSum:
    """Generates the code of a sum of rows of X.

    X holds the columns from ``begin`` on; ``acc`` has them all.
    """

    def __init__(self, context, builder, signature, args, begin):
        X, indices, _, _, _, acc = signature.args[:6]
        self.context, self.builder = context, builder
        self.summed = ir.FloatType() if acc.dtype == types.float32 else ir.DoubleType()
        self.stored = ir.HalfType() if X.dtype == types.uint16 else self.summed
        self.x_bytes, self.acc_bytes = X.dtype.bitwidth // 8, acc.dtype.bitwidth // 8
        self.index_bits = indices.dtype.bitwidth
        self.x_data, (_, self.d) = self.array(args[0], X)
        self.index_data, (self.total,) = self.array(args[1], indices)
        self.first, self.last, self.ahead = (_to_i64(builder, value) for value in args[2:5])
        self.acc_data, _ = self.array(args[5], acc)
        self.row_bytes = builder.mul(self.d, _const(self.x_bytes))
        self.begin = _to_i64(builder, begin)
        self.d = builder.add(self.d, self.begin)
        self.x_data = builder.sub(self.x_data, builder.mul(self.begin, _const(self.x_bytes)))

    def array(self, value, kind):
        struct = self.context.make_array(kind)(self.context, self.builder, value)
        return self.builder.ptrtoint(struct.data, _I64), cgutils.unpack_tuple(self.builder, struct.shape)

    def load(self, base, place, kind, size):
        at = self.builder.add(base, self.builder.mul(place, _const(size)))
        return self.builder.load(self.builder.inttoptr(at, kind.as_pointer()), align=size)

    def row_number(self, place):
        kind = ir.IntType(self.index_bits)
        return _to_i64(self.builder, self.load(self.index_data, place, kind, self.index_bits // 8))

    def row_address(self, number):
        return self.builder.add(self.x_data, self.builder.mul(number, self.row_bytes))

    def hint(self, place, column):
        """In the first pass over the rows, prefetch the row that is ``ahead`` places later."""
        builder = self.builder
        with builder.if_then(builder.icmp_signed("==", column, _const(0))):
            later = builder.add(place, self.ahead)
            inside = builder.icmp_signed("<", later, self.total)
            number = self.row_number(builder.select(inside, later, place))
            _prefetch(builder, self.row_address(number), self.row_bytes)

    def columns(self, column, lanes, count, weight):
        """Sum ``count`` vectors of ``lanes`` columns, from ``column`` on, over all rows."""
        builder = self.builder
        wide = ir.VectorType(self.summed, lanes) if lanes > 1 else self.summed
        narrow = ir.VectorType(self.stored, lanes) if lanes > 1 else self.stored
        sums = [cgutils.alloca_once(builder, wide) for _ in range(count)]
        for total in sums:
            builder.store(ir.Constant(wide, None), total)
        offset = builder.mul(column, _const(self.x_bytes))
        with cgutils.for_range_slice(builder, self.first, self.last, _const(1), _I64) as (place, _):
            self.hint(place, column)
            number = self.row_number(place)
            factor = None if weight is None else _splat(builder, weight(place, number), wide)
            base = builder.add(self.row_address(number), offset)
            for u, total in enumerate(sums):
                at = builder.add(base, _const(u * lanes * self.x_bytes))
                value = builder.load(builder.inttoptr(at, narrow.as_pointer()), align=self.x_bytes)
                value = value if narrow == wide else builder.fpext(value, wide)
                if factor is not None:
                    value = builder.fmul(value, factor)
                builder.store(builder.fadd(builder.load(total), value, flags=_IN_ORDER), total)
        for u, total in enumerate(sums):
            place = builder.mul(builder.add(column, _const(u * lanes)), _const(self.acc_bytes))
            pointer = builder.inttoptr(builder.add(self.acc_data, place), wide.as_pointer())
            builder.store(builder.load(total), pointer, align=self.acc_bytes)

    def emit(self, weight=None):
        """Generate the whole sum: the widest tile of columns first, then the rest.

        ``weight`` is None or a function of (place, row number).
        """
        done = self.begin
        for lanes, count in _TILES:
            width = lanes * count
            left = self.builder.sub(self.d, done)
            end = self.builder.add(
                done, self.builder.mul(self.builder.sdiv(left, _const(width)), _const(width))
            )
            with cgutils.for_range_slice(self.builder, done, end, _const(width), _I64) as (column, _):
                self.columns(column, lanes, count, weight)
            done = end
        return self.context.get_dummy_value()


def _splat(builder, value, kind):
    if not isinstance(kind, ir.VectorType):
        return value
    i32 = ir.IntType(32)
    lane = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(i32, 0))
    zeros = ir.Constant(ir.VectorType(i32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(lane, lane, zeros)


@intrinsic
def add_rows(typingctx, X, indices, start, stop, ahead, acc, begin):
    """Write to ``acc`` the sum of the rows ``indices[start:stop]`` of X (half precision if uint16).

    Rows that come ``ahead`` places later are prefetched. X holds the columns from ``begin`` on; ``begin`` is
    a multiple of 32, so that a sum over some columns takes the same order as one over all.
    """
    if X.dtype != types.uint16 and X.dtype != acc.dtype:
        return None

    def codegen(context, builder, signature, args):
        return _RowSum(context, builder, signature, args, args[6]).emit()

    return types.void(X, indices, start, stop, ahead, acc, begin), codegen


@intrinsic
def add_weighted_rows(typingctx, X, indices, start, stop, ahead, acc, values, step, scale, scale_step, begin):
    """Like :func:`add_rows`, with row ``j = indices[p]`` times ``values[p * step] * scale[j * scale_step]``.

    A step of 0 always reads the first entry: callers without values, or without a scale, pass one entry.
    """
    if X.dtype != types.uint16 and X.dtype != acc.dtype:
        return None

    def codegen(context, builder, signature, args):
        rows = _RowSum(context, builder, signature, args, args[10])
        return rows.emit(_weights(rows, (values, scale), args[6:10]))

    kinds = (X, indices, start, stop, ahead, acc, values, step, scale, scale_step, begin)
    return types.void(*kinds), codegen


def _weights(rows, arrays, args):
    """Return a function that generates the weight of an entry: its value times the scale of its column."""
    builder = rows.builder
    steps = [_to_i64(builder, args[1]), _to_i64(builder, args[3])]
    data = [rows.array(args[0], arrays[0])[0], rows.array(args[2], arrays[1])[0]]
    kinds = [ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType() for kind in arrays]

    def weight(place, number):
        factors = []
        for base, step, where, kind in zip(data, steps, (place, number), kinds):
            size = 4 if kind == ir.FloatType() else 8
            factor = rows.load(base, builder.mul(where, step), kind, size)
            if kind != rows.summed:
                factor = (builder.fptrunc if size == 8 else builder.fpext)(factor, rows.summed)
            factors.append(factor)
        return builder.fmul(*factors)

    return weight


class _Product:
    """Generates the code of ``C += A @ B`` in single precision, on ranges of rows, columns and terms.

    Each number of C is a chain of fused multiply-adds in the order of the terms, whatever the tile.
    """

    def __init__(self, context, builder, signature, args):
        self.builder = builder

        def array(place):
            struct = context.make_array(signature.args[place])(context, builder, args[place])
            return builder.ptrtoint(struct.data, _I64), cgutils.unpack_tuple(builder, struct.shape)

        self.a, self.b, self.c = array(0)[0], array(3), array(4)
        self.a_row, self.a_term = (_to_i64(builder, value) for value in args[1:3])
        self.ranges = [[_to_i64(builder, value) for value in args[lo : lo + 2]] for lo in (5, 7, 9)]

    def pointer(self, base, place, kind, ahead=0):
        at = self.builder.add(base, self.builder.mul(place, _const(4)))
        return self.builder.inttoptr(self.builder.add(at, _const(4 * ahead)), kind.as_pointer())

    def row(self, matrix, number, column):
        return self.builder.add(self.builder.mul(number, matrix[1][1]), column)

    def tile(self, i, j, rows, lanes, count):
        """Add to ``rows`` rows of C from i on, and to ``count`` vectors of ``lanes`` columns from j on."""
        builder, single = self.builder, ir.FloatType()
        wide = ir.VectorType(single, lanes) if lanes > 1 else single
        name = f"llvm.fma.v{lanes}f32" if lanes > 1 else "llvm.fma.f32"
        fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(wide, [wide] * 3), name)
        numbers = [builder.add(i, _const(r)) for r in range(rows)]
        places = [
            self.pointer(self.c[0], self.row(self.c, number, j), wide, u * lanes)
            for number in numbers
            for u in range(count)
        ]
        sums = [cgutils.alloca_once(builder, wide) for _ in places]
        for place, total in zip(places, sums):
            builder.store(builder.load(place, align=4), total)
        starts = [builder.mul(number, self.a_row) for number in numbers]
        with cgutils.for_range_slice(builder, *self.ranges[2], _const(1), _I64) as (k, _):
            at = self.row(self.b, k, j)
            right = [
                builder.load(self.pointer(self.b[0], at, wide, u * lanes), align=4) for u in range(count)
            ]
            offset = builder.mul(k, self.a_term)
            for r, start in enumerate(starts):
                left = builder.load(self.pointer(self.a, builder.add(start, offset), single), align=4)
                left = _splat(builder, left, wide)
                for u, value in enumerate(right):
                    total = sums[r * count + u]
                    builder.store(builder.call(fma, [left, value, builder.load(total)]), total)
        for place, total in zip(places, sums):
            builder.store(builder.load(total), place, align=4)

    def emit(self):
        """Generate the whole product: the widest tiles of columns first, six rows at a time."""
        builder, (first, last) = self.builder, self.ranges[0]
        done, stop = self.ranges[1]
        full = builder.mul(builder.sdiv(builder.sub(last, first), _const(_ROWS)), _const(_ROWS))
        middle = builder.add(first, full)
        for lanes, count in _PRODUCT_TILES:
            width = _const(lanes * count)
            end = builder.add(done, builder.mul(builder.sdiv(builder.sub(stop, done), width), width))
            with cgutils.for_range_slice(builder, done, end, width, _I64) as (j, _):
                for lo, hi, rows in ((first, middle, _ROWS), (middle, last, 1)):
                    with cgutils.for_range_slice(builder, lo, hi, _const(rows), _I64) as (i, _):
                        self.tile(i, j, rows, lanes, count)
            done = end


@intrinsic
def add_product(typingctx, A, row_step, term_step, B, C, i0, i1, j0, j1, k0, k1):
    """Add to ``C[i0:i1, j0:j1]`` the products with terms ``k0:k1``; B and C are C-contiguous float32.

    The entry of A for row i and term k is ``i * row_step + k * term_step`` numbers from its start: so A may
    stand for its transpose.
    """

    def codegen(context, builder, signature, args):
        _Product(context, builder, signature, args).emit()
        return context.get_dummy_value()

    return types.void(A, row_step, term_step, B, C, i0, i1, j0, j1, k0, k1), codegen


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
    """Return a stored number as a float: uint16 is read as half precision, others are unchanged."""
    raise TypeError("only for use inside compiled kernels")


@overload(load, inline="always")
def _load(value):
    if value == types.uint16:
        return lambda value: half_to_single(value)
    return lambda value: value


def store(array, i, j, value):
    """Write ``value`` to ``array[i, j]``, rounded to half precision if the array is uint16."""
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
