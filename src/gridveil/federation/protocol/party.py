"""One party of a federation: its agents, their multipliers, and its messages to its neighbours.

An iteration is the same as in one process (admm/iteration.py), with two exchanges. The copies x of
the party's components go to the owners of their buses. The consensus values z of the party's buses
go to the owners of what is connected there. At the end of a window the party reports residuals and
sums to the coordinator and applies its decision.

Nothing here is random. A killed party that resumes from its last iteration sends the same bits
again.
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
from gridveil.admm.draw import Draw
from gridveil.admm.initial_state import flat_state
from gridveil.admm.penalties import WINDOW
from gridveil.admm.policy import Policy
from gridveil.admm.state import State
from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.local_agents import Exchange, LocalAgents
from gridveil.federation.protocol.decision import DECISION_SIZE, Decision
from gridveil.federation.protocol.mailbox import Mailbox
from gridveil.federation.protocol.messages import MessageKind
from gridveil.federation.protocol.ring_buffer import RingBuffer
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.channel import Channel
from gridveil.fidelity.agents import agreed_point
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.status import Status

_SAVED_ITERATIONS = WINDOW + 2
"""A run may end at any iteration of the last window."""
_EMPTY = np.zeros(0)


@dataclass(frozen=True, eq=False)
class PartyResult(ArrayRecord):
    """The result of a party's agents: its loads, its generators, the voltages of its buses."""

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
        local: LocalAgents,
        draw: Draw,
        run: Run,
        mailbox: Mailbox,
        state_file: Path,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Prepare the agents of a party.

        Args:
            name: Of the party.
            local: Its agents.
            draw: Its noisy loads, and their weights.
            run: The settings of the run.
            mailbox: Its messages.
            state_file: Where its last iterations are saved; a run resumes from there.
            progress: Gets the number of each iteration.
        """
        self._name, self._local, self._draw, self._run = name, local, draw, run
        self._progress, self.mailbox = progress, mailbox
        self._state, self._vector = _packed(flat_state(local.layout, draw.noisy, run.policy))
        self._report = self._vector[-REPORT_SIZE:]
        self._before = np.zeros(local.layout.size)
        self._saved = RingBuffer(
            state_file, _problem(local, draw, run), len(self._vector), _SAVED_ITERATIONS
        )

    def run(self) -> PartyResult:
        """Iterate until the coordinator decides to stop."""
        try:
            return self._iterate()
        except GridveilError as error:
            self.mailbox.stop_all([*self._local.neighbours, COORDINATOR], str(error))
            raise

    def _iterate(self) -> PartyResult:
        t = self._saved.last
        if t is None:
            t = 0
            self._start()
        else:
            self._resume(t)
        while True:
            if t > 0 and t == self._run.window_end(t):
                decision = self._report_window(t)
                if decision.stop is not None:
                    return self._result(decision.stop, decision.status)
                self._apply(decision)
            t += 1
            self._step(t)
            self._saved.save(t, self._vector)
            self._progress(t)

    def _start(self) -> None:
        """Exchange what the agents begin with."""
        self._exchange(0)
        self._state.window_z[:] = self._state.z
        self._saved.save(0, self._vector)

    def _resume(self, t: int) -> None:
        """Load the last iteration, and store the messages of it and the one before."""
        self.mailbox.advance(t)
        for i in range(max(0, t - 1), t + 1):
            self._vector[:] = self._saved.load(i)
            for exchange in self._local.exchanges:
                other = exchange.neighbour
                self.mailbox.store(MessageKind.COPIES, i, other, _copies(self._state, exchange))
                self.mailbox.store(MessageKind.CONSENSUS, i, other, self._state.z[exchange.foreign])

    def _step(self, t: int) -> None:
        """Run one iteration."""
        self.mailbox.advance(t)
        sweep_agents(self._local.layout, self._draw, self._state, self._before)
        self._exchange(t)
        sweep_multipliers(self._local.layout, self._state, self._before, self._report)
        if not np.isfinite(self._report).all():
            raise GridveilError(
                f"{self._name}: its numbers are not finite in iteration {t}. Check its slice for "
                "extreme limits or impedances; else a neighbour sends impossible numbers"
            )

    def _exchange(self, t: int) -> None:
        """Exchange copies x and consensus values z with the neighbours."""
        state, exchanges = self._state, self._local.exchanges
        neighbours = self._local.neighbours
        for exchange in exchanges:
            copies = _copies(state, exchange)
            self.mailbox.send(MessageKind.COPIES, t, exchange.neighbour, copies)
        received = self.mailbox.receive(MessageKind.COPIES, t, neighbours)
        for exchange in exchanges:
            copies, penalties = np.split(received[exchange.neighbour], [len(exchange.foreign)])
            if (penalties <= 0).any():
                raise GridveilError(f"{exchange.neighbour} sends penalties that are not above 0")
            state.x[exchange.foreign] = copies
            state.rho[exchange.foreign_lines] = penalties
        sweep_buses(self._local.layout, state)
        for exchange in exchanges:
            consensus = state.z[exchange.foreign]
            self.mailbox.send(MessageKind.CONSENSUS, t, exchange.neighbour, consensus)
        received = self.mailbox.receive(MessageKind.CONSENSUS, t, neighbours)
        for exchange in exchanges:
            state.z[exchange.away] = received[exchange.neighbour]

    def _report_window(self, t: int) -> Decision:
        """Report a window to the coordinator, and wait for its decision."""
        first = t - 1 - (t - 1) % self._run.window
        rows = [self._saved.load(i)[-REPORT_SIZE:] for i in range(first + 1, t + 1)]
        report = np.concatenate([*rows, net_squares(self._local.layout, self._state)])
        self.mailbox.send(MessageKind.REPORT, t, COORDINATOR, report)
        (values,) = self.mailbox.receive(MessageKind.DECISION, t, [COORDINATOR]).values()
        decision = Decision.of(values)
        if not decision.is_possible(first, t):
            raise GridveilError("the coordinator sends an impossible decision")
        return decision

    def _apply(self, decision: Decision) -> None:
        """Change the penalties as the coordinator decides."""
        if self._run.policy is Policy.PAPER:
            self._state.rho[:] = decision.rho
            return
        penalties = PenaltyDecision(
            decision.stagnates,
            decision.may_fall,
            decision.load_factor,
            decision.generator_factor,
            decision.floor,
        )
        update_penalties(self._local.layout, self._state, penalties)

    def _result(self, iteration: int, status: Status) -> PartyResult:
        """Return the state of an iteration as the result."""
        self._vector[:] = self._saved.load(iteration)
        p, q, point = agreed_point(self._local.layout, self._state, len(self._draw.noisy) // 2)
        return PartyResult(status, iteration, p, q, point)


def party_mailbox(
    local: LocalAgents, run: Run, channel: Channel, log: Callable[[str], None]
) -> Mailbox:
    """Return the mailbox of a party, which accepts what its neighbours and the coordinator send."""
    own = len(run.digest())
    sizes = {
        (COORDINATOR, MessageKind.HELLO): own,
        (COORDINATOR, MessageKind.DECISION): DECISION_SIZE,
        (COORDINATOR, MessageKind.DONE): 0,
    }
    for exchange in local.exchanges:
        other = exchange.neighbour
        sizes[other, MessageKind.HELLO] = own + len(exchange.digest)
        sizes[other, MessageKind.COPIES] = len(exchange.foreign) + len(exchange.foreign_lines)
        sizes[other, MessageKind.CONSENSUS] = len(exchange.away)
    return Mailbox(channel, run.id, sizes, run.patience, log)


def report_done(mailbox: Mailbox) -> None:
    """Report to the coordinator that the party's result is written; wait for its confirmation."""
    mailbox.send(MessageKind.DONE, mailbox.iteration, COORDINATOR, _EMPTY)
    mailbox.receive(MessageKind.DONE, mailbox.iteration, [COORDINATOR])


def _copies(state: State, exchange: Exchange) -> FloatArray:
    return np.concatenate([state.x[exchange.away], state.rho[exchange.away_lines]])


def _packed(state: State) -> tuple[State, FloatArray]:
    """Return the state as views of one vector, which ends with the report of the iteration."""
    arrays = [np.asarray(array) for array in state]
    vector = np.zeros(sum(array.size for array in arrays) + REPORT_SIZE)
    views, place = [], 0
    for array in arrays:
        view = vector[place : place + array.size].reshape(array.shape)
        view[...] = array
        views.append(view)
        place += array.size
    return State(*views), vector


def _problem(local: LocalAgents, draw: Draw, run: Run) -> bytes:
    """Return what distinguishes this problem from others, so that a run resumes only its own."""
    arrays = b"".join(array.tobytes() for array in (*local.layout, *draw.distinguishing))
    return arrays + b"".join(exchange.digest for exchange in local.exchanges) + run.digest()
