"""One party of a federation: its agents, its duals, and its letters to its neighbours.

An iteration is the same as in one process (admm/iteration.py), with two exchanges: the copies of
its components go to the owners of their buses, and the answers of its buses to the owners of what
is connected there. Every so often the coordinator hears residuals and sums, and judges.

Nothing here is drawn at random, so a killed party that starts again from its last iteration says
again, to the bit, what it had said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.admm.distributed import (
    REPORT_SIZE,
    PenaltyDecision,
    net_squares,
    sweep_agents,
    sweep_buses,
    sweep_multipliers,
    update_penalties,
)
from gridveil.admm.initial_state import flat_state
from gridveil.admm.penalties import WINDOW
from gridveil.admm.policy import Policy
from gridveil.admm.state import State
from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.local_agents import Exchange, Local
from gridveil.federation.protocol.decision import VERDICT_SIZE, Verdict
from gridveil.federation.protocol.mailbox import Correspondence
from gridveil.federation.protocol.messages import Kind
from gridveil.federation.protocol.ring_buffer import Slots
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.channel import Channel
from gridveil.fidelity.agents import agreed
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.status import Status

_SLOTS = WINDOW + 2
"""A run may end at any iteration of the last window."""


@dataclass(frozen=True, eq=False)
class Agreed(ArrayRecord):
    """What a party's agents came to: its loads, its generators and the voltages of its buses."""

    status: Status
    iterations: int
    p: FloatArray
    q: FloatArray
    point: OperatingPoint


class Party:
    """The agents of one party, from their start or from where a killed process left them."""

    def __init__(
        self,
        name: str,
        local: Local,
        noisy: FloatArray,
        run: Run,
        letters: Correspondence,
        store: Path,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`noisy` holds p and then q of its private loads; `store` is the file of its state."""
        self._name, self._local, self._noisy, self._run = name, local, noisy, run
        self._progress = progress
        self._state, self._vector = _packed(flat_state(local.layout, noisy, run.policy))
        self._told = self._vector[-REPORT_SIZE:]
        self._before = np.zeros(local.layout.size)
        self._slots = Slots(store, _problem(local, noisy, run), len(self._vector), _SLOTS)
        self.letters = letters

    def run(self) -> Agreed:
        """Iterate until the coordinator says stop."""
        neighbours = [exchange.neighbour for exchange in self._local.exchanges]
        try:
            return self._iterate()
        except GridveilError as error:
            self.letters.stop_all([*neighbours, COORDINATOR], str(error))
            raise

    def _iterate(self) -> Agreed:
        t = self._slots.last
        if t is None:
            self._exchange(0)
            self._state.window_z[:] = self._state.z
            self._slots.save(0, self._vector)
            t = 0
        else:
            self._go_on_from(t)
        while True:
            if t > 0 and (t % self._run.window == 0 or t == self._run.max_iterations):
                verdict = self._ask(t)
                if verdict.stop is not None:
                    return self._agreed(verdict)
                self._obey(verdict)
            t += 1
            self.letters.advance(t)
            sweep_agents(self._local.layout, self._noisy, self._state, self._before)
            self._exchange(t)
            sweep_multipliers(self._local.layout, self._state, self._before, self._told)
            if not np.isfinite(self._told).all():
                raise GridveilError(
                    f"{self._name}: its numbers grew beyond all bounds in iteration {t}: extreme "
                    "limits or impedances, or a neighbour that sends what cannot be"
                )
            self._slots.save(t, self._vector)
            self._progress(t)

    def _exchange(self, t: int) -> None:
        """Send copies and answers to the neighbours, take theirs in."""
        state, exchanges = self._state, self._local.exchanges
        neighbours = [exchange.neighbour for exchange in exchanges]
        for exchange in exchanges:
            self.letters.post(Kind.COPIES, t, exchange.neighbour, _copies(state, exchange))
        heard = self.letters.collect(Kind.COPIES, t, neighbours)
        for exchange in exchanges:
            copies, penalties = np.split(heard[exchange.neighbour], [len(exchange.into)])
            if (penalties <= 0).any():
                raise GridveilError(f"{exchange.neighbour} sends penalties that are not above 0")
            state.x[exchange.into] = copies
            state.rho[exchange.into_lines] = penalties
        sweep_buses(self._local.layout, state)
        for exchange in exchanges:
            self.letters.post(Kind.ANSWERS, t, exchange.neighbour, state.z[exchange.into])
        heard = self.letters.collect(Kind.ANSWERS, t, neighbours)
        for exchange in exchanges:
            state.z[exchange.out] = heard[exchange.neighbour]

    def _ask(self, t: int) -> Verdict:
        """Report a window to the coordinator, and wait for its verdict."""
        first = t - 1 - (t - 1) % self._run.window
        rows = [self._slots.load(i)[-REPORT_SIZE:] for i in range(first + 1, t + 1)]
        report = np.concatenate([*rows, net_squares(self._local.layout, self._state)])
        self.letters.post(Kind.REPORT, t, COORDINATOR, report)
        (values,) = self.letters.collect(Kind.VERDICT, t, [COORDINATOR]).values()
        verdict = Verdict.of(values)
        if not verdict.is_possible(first, t):
            raise GridveilError("the coordinator sends a verdict that cannot be")
        return verdict

    def _obey(self, verdict: Verdict) -> None:
        """Change the penalties as the coordinator says."""
        if self._run.policy is Policy.PAPER:
            self._state.rho[:] = verdict.rho
            return
        decision = PenaltyDecision(
            verdict.stagnates,
            verdict.may_fall,
            verdict.load_factor,
            verdict.generator_factor,
            verdict.floor,
        )
        update_penalties(self._local.layout, self._state, decision)

    def _go_on_from(self, t: int) -> None:
        """Take up the last iteration, and what was said in it and the one before."""
        self.letters.advance(t)
        for i in range(max(0, t - 1), t + 1):
            self._vector[:] = self._slots.load(i)
            for exchange in self._local.exchanges:
                other = exchange.neighbour
                self.letters.keep(Kind.COPIES, i, other, _copies(self._state, exchange))
                self.letters.keep(Kind.ANSWERS, i, other, self._state.z[exchange.into])

    def _agreed(self, verdict: Verdict) -> Agreed:
        assert verdict.stop is not None
        self._vector[:] = self._slots.load(verdict.stop)
        p, q, point = agreed(self._local.layout, self._state, len(self._noisy) // 2)
        return Agreed(verdict.status, verdict.stop, p, q, point)


def finish(letters: Correspondence) -> None:
    """Tell the coordinator that the released loads are written; wait until it knows."""
    letters.post(Kind.DONE, letters.clock, COORDINATOR, np.zeros(0))
    letters.collect(Kind.DONE, letters.clock, [COORDINATOR])


def party_letters(
    local: Local, run: Run, channel: Channel, tell: Callable[[str], None]
) -> Correspondence:
    """Return the correspondence of a party: who may send it what, and how long that is."""
    own = len(run.digest())
    sizes = {
        (COORDINATOR, Kind.HELLO): own,
        (COORDINATOR, Kind.VERDICT): VERDICT_SIZE,
        (COORDINATOR, Kind.DONE): 0,
    }
    for exchange in local.exchanges:
        other = exchange.neighbour
        sizes[other, Kind.HELLO] = own + len(exchange.agreement)
        sizes[other, Kind.COPIES] = len(exchange.into) + len(exchange.into_lines)
        sizes[other, Kind.ANSWERS] = len(exchange.out)
    return Correspondence(channel, run.id, sizes, run.patience, tell)


def greetings(local: Local, run: Run) -> dict[str, bytes]:
    """Return what a party and each of the others must agree on."""
    told = {one.neighbour: run.digest() + one.agreement for one in local.exchanges}
    return {**told, COORDINATOR: run.digest()}


def _copies(state: State, exchange: Exchange) -> FloatArray:
    return np.concatenate([state.x[exchange.out], state.rho[exchange.out_lines]])


def _packed(state: State) -> tuple[State, FloatArray]:
    """Return the state in one piece of memory, with room for what is told behind it."""
    arrays = [np.asarray(array) for array in state]
    vector = np.zeros(sum(array.size for array in arrays) + REPORT_SIZE)
    views, place = [], 0
    for array in arrays:
        view = vector[place : place + array.size].reshape(array.shape)
        view[...] = array
        views.append(view)
        place += array.size
    return State(*views), vector


def _problem(local: Local, noisy: FloatArray, run: Run) -> bytes:
    """Return what tells one problem from another, so that a run goes on with its own."""
    arrays = b"".join(array.tobytes() for array in (*local.layout, noisy))
    return arrays + b"".join(exchange.agreement for exchange in local.exchanges) + run.digest()
