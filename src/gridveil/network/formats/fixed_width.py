"""Loads in fixed columns of lines: UCTE-DEF and IEEE-CDF."""

from collections.abc import Iterator, Mapping

from gridveil.network.formats.text_cells import Cell

Columns = Mapping[str, tuple[int, int]]
"""First and last column, from 1, by what stands there."""


def cells_of_lines(
    text: str, begins: str, ends: str, name: tuple[int, int], columns: Columns
) -> Iterator[Cell]:
    """Yield the cells of the lines between one that begins so and one that ends the section.

    Args:
        text: The text.
        begins: How the line before them begins.
        ends: How the line after them begins.
        name: The columns of what each line is called.
        columns: The columns of each cell.
    """
    offset, inside = 0, False
    for line in text.split("\n"):
        if inside and line.startswith(ends):
            inside = False
        elif inside and line.strip() and not line.startswith("##"):
            what = line[name[0] - 1 : name[1]].strip()
            for column, (first, last) in columns.items():
                if len(line) >= first:
                    end = min(last, len(line))
                    yield Cell(
                        offset + first - 1, offset + end, what, column, line[first - 1 : end]
                    )
        elif line.startswith(begins):
            inside = True
        offset += len(line) + 1
