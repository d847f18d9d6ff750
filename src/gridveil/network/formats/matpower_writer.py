"""Writes MATPOWER case files: a source text with other numbers in it, or tables alone."""

import re
from collections.abc import Iterator, Mapping, Sequence

from gridveil.arrays import FloatArray
from gridveil.network.case_file import COLUMNS, CaseFile, Edit

_TO_BRACKET = re.compile(r"(?:%[^\n]*|[^%\]])*\]")
"""Up to the bracket that closes a table, past those in comments."""
_TOKEN = re.compile(r"(?P<skipped>(?:%|\.\.\.)[^\n]*)|[^\s,%]+")


def edited_text(case: CaseFile, edits: Sequence[Edit]) -> str:
    """Return the text of the case with only the edited cells replaced."""
    replacements: list[tuple[int, int, str]] = []
    for edit in edits:
        token = _row_tokens(case, edit.table, edit.row)[_column_index(edit)]
        replacements.append((token.start(), token.end(), _number_text(edit.value)))
    pieces: list[str] = []
    position = 0
    for start, end, value in sorted(replacements):
        pieces += (case.text[position:start], value)
        position = end
    return "".join([*pieces, case.text[position:]])


def text_of_tables(tables: Mapping[str, FloatArray], base_mva: float) -> str:
    """Return the text of a case that holds these tables and nothing else."""
    lines = [
        "function mpc = case",
        "mpc.version = '2';",
        f"mpc.baseMVA = {_short_text(base_mva)};",
    ]
    for table, values in tables.items():
        names = COLUMNS[table][: values.shape[1]]
        rows = [f"\t{row};" for row in _rows(values)]
        lines += ["", "%\t" + "\t".join(names), f"mpc.{table} = [", *rows, "];"]
    return "\n".join(lines) + "\n"


def text_with_gencost(case: CaseFile, gencost: FloatArray) -> str:
    """Return the text of the case with another table of costs; all else in it stays."""
    there = "gencost" if "gencost" in case.sections else "gen"
    table = case.tables[there]
    assigned = re.compile(rf"(\w+)\.{there}\s*=\s*\[")
    opened = assigned.search(case.text, _line_start(case.text, table.line))
    assert opened is not None
    last = max(int(table.row_spans.max(initial=0)), opened.end())
    bracket = _TO_BRACKET.match(case.text, last)
    assert bracket is not None
    rows = [f"\t{row};\n" for row in _rows(gencost)]
    text = f"{opened[1]}.gencost = [\n{''.join(rows)}]"
    if there == "gencost":
        return case.text[: opened.start()] + text + case.text[bracket.end() :]
    end = case.text.find("\n", bracket.end())
    end = len(case.text) if end < 0 else end
    return f"{case.text[:end]}\n\n{text};{case.text[end:]}"


def _line_start(text: str, line: int) -> int:
    """Return where a line begins, counted from 1."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start


def _row_tokens(case: CaseFile, table: str, row: int) -> list[re.Match[str]]:
    """Return where each number of a table's row stands in the text."""
    start, end = (int(offset) for offset in case.tables[table].row_spans[row])
    return [t for t in _TOKEN.finditer(case.text, start, end) if t["skipped"] is None]


def _column_index(edit: Edit) -> int:
    if isinstance(edit.column, int):
        return edit.column
    return COLUMNS[edit.table].index(edit.column)


def _rows(values: FloatArray) -> Iterator[str]:
    """Give the rows of a table as text; most of its numbers stand there many times."""
    texts: dict[float, str] = {}
    for row in values.tolist():
        for value in row:
            if value not in texts:
                texts[value] = _short_text(value)
        yield "\t".join([texts[value] for value in row])


def _number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number, in MATLAB's spelling."""
    return repr(float(value)).replace("inf", "Inf").replace("nan", "NaN")


def _short_text(value: float) -> str:
    """Return the same, whole numbers without a decimal point, and 0 without a sign."""
    return _number_text(value + 0.0).removesuffix(".0")
