"""Writes the released loads of a folder into a copy of the source that the release was made from.

Loads are found by bus and number, as the table of loads has them. The copy is the owner's: it has
the names, indices and everything else of the source, of which a release says nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.formats.base import CaseFormat
from gridveil.network.formats.registry import format_of
from gridveil.network.library import find_case, load_case
from gridveil.network.network import Network
from gridveil.publication.certificate_file import read_certificate
from gridveil.publication.folder import CERTIFICATE
from gridveil.publication.verification.certified_files import read_files
from gridveil.publication.verification.folder_reader import read_release_file
from gridveil.publication.verification.loads_file import LoadsFile
from gridveil.publication.verification.release_files import ReleaseFiles, folder_claim

_STILL = (
    "the copy holds everything else of the source, which the release neither protects nor "
    "publishes; the certificate is that of the folder, not of the copy"
)


def export_release(
    folder: Path | str,
    into: Path | str,
    output: Path | str,
    *,
    public_injections: Sequence[str] = (),
) -> list[str]:
    """Write the loads of a release into a copy of the file that it was made from.

    Args:
        folder: The folder of the release.
        into: The source, or its name: a file of any format that can be written back.
        output: The copy, which must not exist yet.
        public_injections: The kinds that were public in the release; see `load_case`.

    Returns:
        What the format cannot hold, and what of the source still stands in the copy.

    Raises:
        GridveilError: The folder cannot be used, or the source is another network.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import export_release, release
        >>> folder = mkdtemp()
        >>> release("case5_pjm", folder + "/ledger.sqlite", beta=0.05).save(folder + "/out")
        >>> told = export_release(folder + "/out", "case5_pjm", folder + "/mine.m")
    """
    files, source, target = certified_files(Path(folder)), find_case(into), Path(output)
    if target.exists() or target.is_symlink():
        raise GridveilError(f"{target} exists and is not overwritten; choose another file")
    chosen: CaseFormat = format_of(source)
    network = _source_network(source, files, public_injections)
    _refuse_another(source, network, files)
    return [*chosen.write_back(_with_released(network, files.loads), source, target), _STILL]


def certified_files(folder: Path) -> ReleaseFiles:
    """Return the files of a release whose digests are those of its certificate."""
    read = read_certificate(read_release_file(folder, CERTIFICATE))
    contents, digests = read_files(folder, read)
    broken = [one.name for one in (folder_claim(folder, read), *digests) if not one.ok]
    if broken:
        raise GridveilError(
            f"{folder}: not as certified ({', '.join(broken)}); 'gridveil verify {folder}' says "
            "more"
        )
    return ReleaseFiles(read, contents)


def _source_network(source: Path, files: ReleaseFiles, public: Sequence[str]) -> Network:
    """Return the network of a source with the loads that the release lists."""
    try:
        buses = sorted(set(files.certificate.load_buses))
        return load_case(source, buses, public_injections=public)
    except GridveilError as error:
        raise GridveilError(f"{error}. {source} does not fit this release") from None


def _refuse_another(source: Path, network: Network, files: ReleaseFiles) -> None:
    """Refuse a source whose base, buses, branches or places of loads are not those released."""
    released = files.network
    of, theirs = (set(n.case.tables["bus"].column("bus_i").tolist()) for n in (released, network))
    loads = files.certificate.load_buses, network.load_buses
    idle = files.certificate.idle_load_buses, network.idle_loads.bus.tolist()
    differs = [
        (network.base_mva != released.base_mva, "its base is another"),
        (theirs != of, _differing("bus", of, theirs)),
        (len(network.lines) != len(released.lines), "it has other lines in service"),
        (loads[0] != loads[1], _differing("the loads of bus", *loads)),
        (bool(idle[0]) and idle[0] != idle[1], _differing("the idle loads of bus", *idle)),
    ]
    for is_other, why in differs:
        if is_other:
            raise GridveilError(f"{source} is not the network of this release: {why}")


def _differing(what: str, ours: Iterable[float], theirs: Iterable[float]) -> str:
    """Say where two sets of buses, or the loads at buses, differ first."""
    one, other = Counter(ours), Counter(theirs)
    odd = sorted((one - other) + (other - one))
    return f"{what} {odd[0]:.0f} is not the same" if odd else ""


def _with_released(network: Network, loads: LoadsFile) -> Network:
    """Return a network with released loads; idle ones that were not released are 0."""
    values = dict(zip(_places(loads), loads.values / network.base_mva, strict=True))
    of = replace(network, lists_idle_loads=False).listed_loads
    p, q = _values(of.places, values).T
    idle = network.idle_loads
    p_idle, q_idle = _values(idle.places, values).T
    return replace(
        network.with_loads(p, q),
        idle_loads=replace(idle, p=p_idle, q=q_idle),
        lists_idle_loads=not all(loads.in_service),
    )


def _places(loads: LoadsFile) -> list[tuple[int, int]]:
    return list(zip(loads.buses, loads.numbers, strict=True))


def _values(
    places: Sequence[tuple[int, int]], values: dict[tuple[int, int], FloatArray]
) -> FloatArray:
    nothing = np.zeros(2)
    return np.array([values.get(place, nothing) for place in places]).reshape(-1, 2)
