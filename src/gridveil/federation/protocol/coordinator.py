"""The coordinator: receives residuals and sums, decides how penalties change and when to stop.

It never receives a load, a flow or a voltage. Of an iteration it knows the largest primal and dual
residual of each party, and the sums of squares that measure how far loads, and generators, are from
agreement.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gridveil.admm.distributed import DUAL, PRIMAL, REPORT_SIZE, evaluate_window
from gridveil.admm.initial_state import PAPER_START, initial_state
from gridveil.admm.iteration import ITERATIONS_WITHIN_TOLERANCE
from gridveil.admm.layout import FIRST_LINE_GROUP
from gridveil.admm.penalties import paper_penalty
from gridveil.admm.policy import Policy
from gridveil.admm.state import LINE_VARIABLES
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.names import COORDINATOR
from gridveil.federation.protocol.decision import DECISION_SIZE, Decision
from gridveil.federation.protocol.handshake import receive_hellos, send_hellos
from gridveil.federation.protocol.mailbox import ANY_SIZE, Mailbox
from gridveil.federation.protocol.messages import MessageKind
from gridveil.federation.protocol.ring_buffer import RingBuffer
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.channel import Channel
from gridveil.opf.status import Status

_LINGERING_SECONDS = 0.5
"""How long it stays to answer parties that did not receive its last message."""
_NETS = 2
"""Sums of squared net movements at the end of a report: loads, generators."""
_RESIDUALS = 2
"""Largest primal and dual residual of an iteration."""
_SAVED_WINDOWS = 2
_EMPTY = np.zeros(0)


class Coordinator:
    """The coordinator of a run, from its start or from where a killed process left it."""

    def __init__(
        self,
        run: Run,
        channel: Channel,
        state_file: Path,
        log: Callable[[str], None],
        progress: Callable[[int, float, float], None] = lambda *_: None,
    ) -> None:
        """Prepare the coordinator.

        Args:
            run: The settings of the run.
            channel: To all parties.
            state_file: Where its state is saved; a run resumes from there.
            log: Gets a line about messages that are refused.
            progress: Gets the iteration, primal and dual residual at the end of each window.
        """
        self._run, self._progress = run, progress
        nothing = np.zeros(0)
        self._state = initial_state(
            nothing, nothing, np.zeros((LINE_VARIABLES, 0)), FIRST_LINE_GROUP
        )
        self._rho, self._within_tolerance_count = PAPER_START, 0
        size = len(self._memory(0, Decision(None, Status.CONVERGED)))
        self._saved = RingBuffer(state_file, run.digest() + b"coordinator", size, _SAVED_WINDOWS)
        history_file = state_file.with_name(f"{state_file.name}.history")
        self._residuals = RingBuffer(history_file, run.digest(), _RESIDUALS, run.max_iterations + 1)
        self.mailbox = _coordinator_mailbox(run, channel, log)

    def run(self) -> Decision:
        """Evaluate window after window until the run ends; return the last decision."""
        try:
            return self._decide_all()
        except GridveilError as error:
            self.mailbox.stop_all(self._run.parties, str(error))
            raise

    def history(self, iterations: int) -> FloatArray:
        """Return the largest primal and dual residual of every iteration."""
        rows = [self._residuals.load(i) for i in range(1, iterations + 1)]
        return np.array(rows).reshape(-1, _RESIDUALS)

    def finish(self) -> None:
        """Stay until every party has written its result, to answer those that missed the end."""
        parties, t = self._run.parties, self.mailbox.iteration
        for party in parties:
            self.mailbox.store(MessageKind.DONE, t, party, _EMPTY)
        self.mailbox.receive(MessageKind.DONE, t, parties)
        for party in parties:
            self.mailbox.send(MessageKind.DONE, t, party, _EMPTY)
        self.mailbox.wait(_LINGERING_SECONDS)

    def _decide_all(self) -> Decision:
        parties = self._run.parties
        t, decision = self._resume()
        digests = dict.fromkeys(parties, self._run.digest())
        send_hellos(self.mailbox, digests)
        if t == 0:
            receive_hellos(self.mailbox, COORDINATOR, digests)
        while decision is None or decision.stop is None:
            first, t = t, self._run.window_end(t + 1)
            self.mailbox.advance(t)
            decision = self._decide(first, self._receive_reports(first, t))
            self._save(t, decision)
            for party in parties:
                self.mailbox.send(MessageKind.DECISION, t, party, decision.values())
        return decision

    def _receive_reports(self, first: int, last: int) -> list[FloatArray]:
        """Return the reports of a window of the iterations `first` + 1 to `last`."""
        reports = self.mailbox.receive(MessageKind.REPORT, last, self._run.parties)
        for party, report in reports.items():
            if len(report) != (last - first) * REPORT_SIZE + _NETS:
                raise GridveilError(f"{party} sends a report of the wrong length")
        return list(reports.values())

    def _decide(self, start: int, reports: list[FloatArray]) -> Decision:
        """Return the decision on a window that began after iteration `start`."""
        rows = np.array([report[:-_NETS].reshape(-1, REPORT_SIZE) for report in reports])
        sums = rows.sum(axis=0)
        sums[:, [PRIMAL, DUAL]] = rows[:, :, [PRIMAL, DUAL]].max(axis=0)
        for k, row in enumerate(sums):
            t, primal, dual = start + k + 1, float(row[PRIMAL]), float(row[DUAL])
            self._residuals.save(t, row[[PRIMAL, DUAL]])
            is_within = primal <= self._run.tolerance and dual <= self._run.tolerance
            self._within_tolerance_count = self._within_tolerance_count + 1 if is_within else 0
            if self._within_tolerance_count >= ITERATIONS_WITHIN_TOLERANCE:
                return Decision(t, Status.CONVERGED)
            if t >= self._run.max_iterations:
                return Decision(t, Status.ITERATION_LIMIT)
        self._progress(t, primal, dual)
        if self._run.policy is Policy.PAPER:
            self._rho = paper_penalty(self._rho, float(t), primal, dual)
            return Decision(None, Status.CONVERGED, rho=self._rho)
        loads, generators = (float(sum(report[i] for report in reports)) for i in (-2, -1))
        return Decision(
            None, Status.CONVERGED, *evaluate_window(self._state, sums, (loads, generators))
        )

    def _save(self, t: int, decision: Decision) -> None:
        """Write the decision before anyone receives it."""
        self._saved.save((self._saved.last or 0) + 1, self._memory(t, decision))

    def _memory(self, t: int, decision: Decision) -> FloatArray:
        """Return everything that a restarted coordinator needs, as one vector."""
        rest = [self._rho, self._within_tolerance_count, t]
        return np.concatenate([*map(np.ravel, self._state), rest, decision.values()])

    def _resume(self) -> tuple[int, Decision | None]:
        """Return the last iteration that was evaluated, and the decision; 0 at the start."""
        last = self._saved.last
        if last is None:
            return 0, None
        memory = self._saved.load(last)
        place = 0
        for array in self._state:
            array.ravel()[:] = memory[place : place + array.size]
            place += array.size
        self._rho, self._within_tolerance_count, t = (
            float(memory[place]),
            *map(int, memory[place + 1 : place + 3]),
        )
        decision = Decision.of(memory[-DECISION_SIZE:])
        self.mailbox.advance(t)
        for party in self._run.parties:
            self.mailbox.store(MessageKind.DECISION, t, party, decision.values())
        return t, decision


def _coordinator_mailbox(run: Run, channel: Channel, log: Callable[[str], None]) -> Mailbox:
    """Return the mailbox of the coordinator, which accepts what parties send."""
    report = run.window * REPORT_SIZE + _NETS
    all_windows_alike = run.max_iterations % run.window == 0
    sizes = {
        (party, kind): size
        for party in run.parties
        for kind, size in (
            (MessageKind.HELLO, len(run.digest())),
            (MessageKind.REPORT, report if all_windows_alike else ANY_SIZE),
            (MessageKind.DONE, 0),
        )
    }
    return Mailbox(channel, run.id, sizes, run.patience, log, run.window)
