"""Linear operators: sparse and scaled matrices, products, sums and means of powers.

None of them is formed as a matrix. Each operator has an exact transpose, and every product ends in one
sparse gather whose rows can be requested block by block (:meth:`Operator.plan`), so that the
optimiser fuses it with the rest of its step.
"""

from softvec.operators.base import (
    LinearOperatorAdapter,
    Operator,
    Plan,
    Powers,
    Product,
    Rows,
    Runtime,
    Sum,
    as_operator,
)
from softvec.operators.normalize import DANGLING, check_nonnegative, check_range, row_normalize
from softvec.operators.sparse import Sparse, checked_csr

__all__ = [
    "DANGLING",
    "LinearOperatorAdapter",
    "Operator",
    "Plan",
    "Powers",
    "Product",
    "Rows",
    "Runtime",
    "Sparse",
    "Sum",
    "as_operator",
    "check_nonnegative",
    "check_range",
    "checked_csr",
    "row_normalize",
]
