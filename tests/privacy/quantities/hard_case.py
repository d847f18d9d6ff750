"""A small network with the hard cases of every quantity, and the same with other raw values."""

import numpy as np

from tests.cases import Case, bus, gen, line, polynomial

COMMENT = "%% SECRET comment of the owner: x = 0.0712345\nmpc.notes = 'rate 151.25';"


def hard_case(factor=1.0, comment=COMMENT):
    """Return a case whose protected values, and all that follows from them, are times a factor."""

    def of(*values):
        return [float(np.round(value * factor, 9)) for value in values]

    def circuit(start, end, r, x, b, rate, status=1):
        row = line(start, end, *of(r, x, b, rate), status=status)
        row[6:8] = of(1.1 * rate, 1.2 * rate)
        return row

    def unit(at, p_max, p_min, status=1):
        row = gen(at, *of(p_max, 61.25, p_min), status=status)
        row[1:3], row[6] = of(13.75, 3.375), of(151.0)[0]
        return [*row, *(0,) * 6, *of(7.5, 8.5, 9.5, 10.5, 11.5)]

    solved = bus(2, 1, 80.0, 20.0)
    solved[7:9] = [1.0123 * factor, -3.217 * factor]
    cost = [polynomial(*of(0.0213, 10.7, 5.3)), polynomial(*of(21.9, 0.0))]
    for row in cost:
        row[1:3] = of(1234.5, 567.25)
    return Case(
        bus=[bus(1, 3), solved, bus(7, 2, 50.0, 10.0)],
        gen=[unit(1, 211.5, 10.125), unit(7, 104.75, 0.0), unit(7, 33.3125, 3.0, status=0)],
        branch=[
            circuit(1, 2, 0.0131, 0.1271, 0.0219, 151.25),
            circuit(2, 1, 0.0131, 0.1271, 0.0219, 151.25),
            circuit(2, 7, 0.0, 0.0923, 0.0, 0.0),
            circuit(1, 7, 0.0017, -0.0511, 0.0, 97.5),
            circuit(1, 7, 2.3e-6, 5.1e-6, 0.0, 0.0, status=0),
            circuit(1, 7, 1.9e-6, 4.7e-6, 0.0, 0.0),
        ],
        gencost=[*cost, cost[1]],
        extra=comment,
    )
