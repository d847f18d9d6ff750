"""Many shapes as the data of one SVG path: what a screen can show of them, each place once.

Coordinates are whole units. A space stands between them, as the last look at a release (scan)
takes digits with a comma for one number.
"""

import numpy as np

from gridveil.arrays import FloatArray, IntArray

_LARGEST = 4095
"""Coordinates are clipped to this, whatever a hostile file of positions holds."""
_BITS = 12


def segments(start: FloatArray, end: FloatArray) -> str:
    """Return straight lines between points of shape (lines, 2), each drawn once.

    Example:
        >>> import numpy as np
        >>> segments(np.array([[10.2, 5.0]]), np.array([[7.0, 9.0]]))
        'M7 9l3-4'
    """
    a, b = _packed(_whole(start)), _packed(_whole(end))
    ends = np.unique(np.minimum(a, b) << 2 * _BITS | np.maximum(a, b))
    x, y, to_x, to_y = (ends >> shift & _LARGEST for shift in (3 * _BITS, 2 * _BITS, _BITS, 0))
    drawn = (x != to_x) | (y != to_y)
    shapes = np.stack([x, y, to_x - x, to_y - y], axis=1)[drawn].tolist()
    return "".join(f"M{x} {y}l{dx} {dy}" for x, y, dx, dy in shapes).replace(" -", "-")


def squares(at: FloatArray, side: FloatArray) -> str:
    """Return squares around points of shape (points, 2); the largest alone where several stand.

    Example:
        >>> import numpy as np
        >>> squares(np.array([[10.0, 20.0], [10.0, 20.0]]), np.array([2.0, 4.0]))
        'M8 18h4v4 h-4z'
    """
    whole = _whole(np.stack([side, side], axis=1))[:, 0]
    places, which = np.unique(_packed(_whole(at)), return_inverse=True)
    largest = np.zeros(len(places), dtype=np.int64)
    np.maximum.at(largest, which, whole)
    x, y = ((places >> shift & _LARGEST) - largest // 2 for shift in (_BITS, 0))
    shapes = np.stack([x, y, largest], axis=1).tolist()
    return "".join(f"M{x} {y}h{s}v{s} h-{s}z" for x, y, s in shapes)


def stairs(x: FloatArray, y: FloatArray, ground: float) -> str:
    """Return bars side by side as one shape; `x` has one value more than `y`.

    Example:
        >>> import numpy as np
        >>> stairs(np.array([0.0, 1.0, 2.0]), np.array([4.0, 6.0]), 9.0)
        'M0.0 9.0V4.0H1.0V6.0H2.0V9.0z'
    """
    steps = "".join(f"V{top:.1f}H{to:.1f}" for to, top in zip(x[1:], y, strict=True))
    return f"M{x[0]:.1f} {ground:.1f}{steps}V{ground:.1f}z"


def _whole(values: FloatArray) -> IntArray:
    found: IntArray = np.clip(np.nan_to_num(np.rint(values)), 0, _LARGEST).astype(np.int64)
    return found


def _packed(points: IntArray) -> IntArray:
    """Return points as one number each."""
    packed: IntArray = points[:, 0] << _BITS | points[:, 1]
    return packed
