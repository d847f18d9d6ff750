"""What a file of no known format looks like, by its suffix and its first bytes."""

from pathlib import Path

from gridveil.network.formats.base import first_bytes

_SUFFIXES = {
    ".sav": "a saved case of PSS/E: save it there as raw data (.raw)",
    ".pwb": "a PowerWorld case: save it there as PSS/E raw data (.raw) or MATPOWER (.m)",
    ".epc": "a PSLF case: export it as PSS/E raw data (.raw)",
    ".dgs": "an export of PowerFactory: export CGMES, or PSS/E raw data (.raw)",
    ".pfd": "a PowerFactory project: export CGMES, or PSS/E raw data (.raw)",
    ".dss": "an OpenDSS script, which only OpenDSS can run",
    ".nc": "NetCDF, as PyPSA writes it: export a pandapower net or MATPOWER's tables",
    ".h5": "HDF5: export a pandapower net or MATPOWER's tables",
    ".jiidm": "PowSyBl's JSON: save it as .xiidm",
    ".biidm": "PowSyBl's binary form: save it as .xiidm",
    ".xlsx": "an Excel file",
    ".csv": "a table of comma-separated values",
}
"""What files with these suffixes are, and what to do with them."""
_STARTS = (
    (b"\x1f\x8b", "a gzip file: unpack it"),
    (b"PK", "a zip archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"{", "JSON"),
    (b"[", "JSON"),
    (b"<", "XML"),
)
_LOOKED_AT = 4096


def looks_like(path: Path) -> str:
    """Return what a file seems to be, in words that show nothing of its content."""
    if path.is_dir():
        return "a folder without XML files"
    start = first_bytes(path, _LOOKED_AT)
    if not start:
        return "an empty file"
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    for sign, what in _STARTS:
        if start.lstrip().startswith(sign):
            return what
    return "binary data" if b"\0" in start else "plain text"
