"""MATPOWER case files compressed with gzip (.m.gz)."""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.files import read_file, write_atomically
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.formats.matpower import saved_text
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_case
from gridveil.network.network import Network


class GzippedMatpower(CaseFormat):
    """Compressed MATPOWER case files."""

    name = "matpower-gzip"
    suffixes = (".gz",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins as gzip files do."""
        return first_bytes(path, 2) == b"\x1f\x8b"

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; lines in messages are those of the decompressed text."""
        try:
            text = gzip.decompress(read_file(path)).decode("utf-8", "surrogateescape")
        except (OSError, EOFError, zlib.error) as error:
            raise GridveilError(f"{path}: cannot be decompressed: {error}") from error
        return network_from_case(parse_matpower(text, str(path), Path(path.stem).stem), load_buses)

    def write(self, network: Network, path: Path) -> None:
        """Write the case file that a network came from, with its present values."""
        data = saved_text(network).encode("utf-8", "surrogateescape")
        write_atomically(path, gzip.compress(data, mtime=0))
