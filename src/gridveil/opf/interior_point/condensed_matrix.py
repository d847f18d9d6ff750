"""The condensed matrix K_w = H + diagonal + Jᵀ w J, factorised, dense rows of J included.

Dense rows V would fill the factors. The rest K₀ is factorised alone, and Woodbury's formula with
M = I + √w V K₀⁻¹ Vᵀ √w brings them in. K₀ may then have negative pivots: K_w is positive definite
if M has as many negative eigenvalues as K₀ has negative pivots (inertia is additive).
"""

from gridveil.arrays import BoolArray, IntArray
from gridveil.opf.interior_point.backend import Array, Backend, Operations
from gridveil.opf.interior_point.structure import Structure


class CondensedMatrix:
    """K_w of a batch."""

    def __init__(
        self, backend: Backend, structure: Structure, operations: Operations, batch: int
    ) -> None:
        self._placement, self._xp = backend.placement, backend.placement.xp
        self._operations = operations
        self._dense = [int(row) for row in structure.dense]
        self._rows = structure.rows
        self._factorisation = operations.factorisation(batch)

    def keep(self, batch: int) -> None:
        """Go on with fewer instances."""
        self._factorisation = self._operations.factorisation(batch)

    def factorise(
        self, hessian: Array, diagonal: Array, jacobian: Array, weights: Array, which: BoolArray
    ) -> BoolArray:
        """Factorise instances that a mask names; return which of all are positive definite."""
        operations = self._operations
        values = operations.condensed(hessian, diagonal, jacobian, weights)
        negative = self._factorisation.factorise(values, which, len(self._dense))
        if not self._dense:
            positive: BoolArray = negative == 0
            return positive
        self._jacobian, self._root = jacobian, self._xp.sqrt(weights[:, self._dense])
        bordered: BoolArray = negative == self._border(negative <= len(self._dense))
        return bordered

    def _border(self, usable: BoolArray) -> IntArray:
        """Set K₀⁻¹ Vᵀ √w and M; return the negative eigenvalues of M."""
        xp, columns, matrix = self._xp, [], []
        kept = self._placement.array(usable)[:, None]
        for place, row in enumerate(self._dense):
            unit = xp.zeros((len(self._root), self._rows))
            unit[:, row] = self._root[:, place]
            column = self._factorisation.solve(
                self._operations.transposed_times(self._jacobian, unit)
            )
            columns.append(xp.where(kept, column, 0.0))
            matrix.append(self._across(columns[-1]))
        self._columns = xp.stack(columns, axis=2)
        self._m = xp.stack(matrix, axis=2) + xp.eye(len(self._dense))
        symmetric = (self._m + self._m.swapaxes(1, 2)) / 2
        negative: IntArray = (self._placement.host(xp.linalg.eigvalsh(symmetric)) < 0).sum(axis=1)
        return negative

    def _across(self, x: Array) -> Array:
        """Return √w V x."""
        return self._root * self._operations.times(self._jacobian, x)[:, self._dense]

    def solve(self, b: Array) -> Array:
        """Return K_w⁻¹ b of every instance; the next solution may stand in its place."""
        x = self._factorisation.solve(b)
        if not self._dense:
            return x
        inner = self._xp.linalg.solve(self._m, self._across(x)[:, :, None])
        return x - (self._columns @ inner)[:, :, 0]
