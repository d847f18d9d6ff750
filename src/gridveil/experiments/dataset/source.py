"""What samples are made from: the network and the loads of a release, and nothing else.

A release alone is taken, never a case: what follows from released loads costs no privacy, by
post-processing.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.publication.export import certified_files
from gridveil.publication.folder import CERTIFICATE, NETWORK
from gridveil.publication.series.export.released import is_series_folder, read_released_series


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedLoads(ArrayRecord):
    """The loads of a release, in one hour or in many."""

    network: Network
    case_text: bytes
    """The case file as it was released."""
    times: tuple[str, ...]
    """When each hour begins, in UTC; empty texts where the release is of no hour."""
    p: FloatArray
    """In p.u., of shape (hours, loads)."""
    q: FloatArray

    @property
    def digest(self) -> str:
        """Return a digest of all of it."""
        values = np.stack([self.p, self.q]).astype("<f8").tobytes()
        text = "\n".join(self.times).encode()
        return hashlib.sha256(self.case_text + text + values).hexdigest()


def read_released_loads(folder: Path) -> ReleasedLoads:
    """Read the loads of a release, of a series or of single loads.

    Raises:
        GridveilError: The folder is no release, or not as certified.
    """
    if not (folder / CERTIFICATE).is_file():
        raise GridveilError(
            f"{folder}: no {CERTIFICATE}, so no release; samples are made from a release alone, "
            "since loads that were not released would need protection"
        )
    if not is_series_folder(folder):
        files = certified_files(folder)
        p, q = files.network.loads.values.T[:, None, :]
        return ReleasedLoads(files.network, files.contents[NETWORK], ("",), p, q)
    released = read_released_series(folder)
    p, q = np.moveaxis(np.array([released.at(t) for t in range(len(released.times))]), 1, 0)
    times = tuple(f"{time}Z" for time in np.datetime_as_string(released.times, unit="m"))
    return ReleasedLoads(released.network, released.case_text, times, p, q)
