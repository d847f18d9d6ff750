"""Which load of a network a source means by a name."""

from collections import Counter
from collections.abc import Iterable

from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.series.table import without_decimals
from gridveil.printable import excerpt

_SHOWN = 5
_LONGEST_NAME = 60


class LoadNames:
    """The names that the loads of a network go by, as `load_series` understands them.

    A load is meant by its key ("load 7", "bus 5, load 2"); by its bus, if it is alone there
    ("bus 5"); by its name in the source, if no other has it; or by a whole number alone, which is
    the index of a load where keys are such ("load 7"), and else a bus.

    Example:
        >>> from gridveil import load_case
        >>> names = LoadNames(load_case("case5_pjm"))
        >>> names.find("bus 3"), names.find("3"), names.find("bus 5")
        (1, 1, None)
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        identities, buses = network.load_identities, network.load_buses
        at, called = Counter(buses), Counter(load.name for load in identities)
        has_indices = any(load.key.startswith("load ") for load in identities)
        by_name: dict[str, int] = {}
        numbers = network.loads.number.tolist()
        for i, (load, bus, number) in enumerate(zip(identities, buses, numbers, strict=True)):
            names = [f"bus {bus}, load {number}"]
            if at[bus] == 1:
                names += [f"bus {bus}"] + ([] if has_indices else [str(bus)])
            if has_indices and load.key.startswith("load "):
                names.append(load.key.removeprefix("load "))
            if load.name and called[load.name] == 1:
                names.append(load.name)
            for name in names:
                by_name.setdefault(name, i)
        self._by_name = by_name | {load.key: i for i, load in enumerate(identities)}
        self._idle = {load.key for load in network.idle_loads.identities}
        self._several = {str(bus) for bus, count in at.items() if count > 1}

    def find(self, name: str) -> int | None:
        """Return the place of a load in `network.loads`, or None."""
        return self._by_name.get(name.strip())

    def at_bus(self, bus: str, number: str | None) -> int | None:
        """Return the load of a bus, if there are several by its number there.

        Raises:
            GridveilError: There are several, and no number.
        """
        bus = bus.strip().removeprefix("bus").strip()
        if number is not None:
            return self._by_name.get(f"bus {bus}, load {number.strip()}")
        if bus in self._several:
            raise GridveilError(
                f"bus {bus} has several loads; say which in a column number, or name loads by "
                f"their keys in a column load: {listed(self._keys_at(bus))}"
            )
        return self._by_name.get(f"bus {bus}")

    def call(self, load: int) -> str:
        """Return how to call a load in a message."""
        return self.network.load_identities[load].key

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Return a sentence on profiles that are of no load, if there are any."""
        idle = [name for name in names if name in self._idle]
        rest = [name for name in names if name not in self._idle]
        told = []
        if rest:
            told.append(
                f"{listed(rest)}: no load of the network, left out; its loads are called "
                f"{listed([load.key for load in self.network.load_identities], 3)}"
            )
        if idle:
            told.append(f"{listed(idle)}: out of service, left out")
        return told

    def refuse_without(self, found: Iterable[int], source: str, told: list[str]) -> None:
        """Refuse profiles if a load has none.

        Args:
            found: The loads that have one.
            source: What is read.
            told: What else was found there, for the message.
        """
        known = set(found)
        absent = [self.call(i) for i in range(len(self.network.loads)) if i not in known]
        if absent:
            also = f". Of what was found, {'; '.join(told)}" if told else ""
            raise GridveilError(
                f"{source}: no profile for {listed(absent)}; every load needs one: a load that "
                f"draws nothing has zeros{also}"
            )

    def _keys_at(self, bus: str) -> list[str]:
        buses = map(str, self.network.load_buses)
        return [
            load.key
            for load, at in zip(self.network.load_identities, buses, strict=True)
            if at == bus
        ]


def listed(names: list[str], most: int = _SHOWN) -> str:
    """Return names one after another, and how many there are more."""
    shown = ", ".join(excerpt(without_decimals(name), _LONGEST_NAME) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
