"""The coordinator: sees residuals and four sums, says how penalties change and when to stop.

It never sees a load, a flow or a voltage. What it knows of an iteration is the largest primal and
dual residual of each party, and how far its loads, and its generators, are from agreement, squared
and summed up.
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
from gridveil.federation.protocol.decision import VERDICT_SIZE, Verdict
from gridveil.federation.protocol.handshake import await_hello, say_hello
from gridveil.federation.protocol.mailbox import Correspondence
from gridveil.federation.protocol.messages import Kind
from gridveil.federation.protocol.ring_buffer import Slots
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.channel import Channel
from gridveil.opf.status import Status

_LINGERING_SECONDS = 0.5
"""How long it stays for those to whom its last word got lost."""
_NETS = 2


class Coordinator:
    """The coordinator of a run, from its start or from where a killed process left it."""

    def __init__(
        self,
        run: Run,
        channel: Channel,
        store: Path,
        tell: Callable[[str], None],
        progress: Callable[[int, float, float], None] = lambda *_: None,
    ) -> None:
        """`store` is the file of its state; `progress` gets iteration, primal and dual residual."""
        self._run, self._progress = run, progress
        nothing = np.zeros(0)
        self._state = initial_state(
            nothing, nothing, np.zeros((LINE_VARIABLES, 0)), FIRST_LINE_GROUP
        )
        self._rho, self._calm = PAPER_START, 0
        window = run.window * REPORT_SIZE + _NETS
        sizes = {
            (party, kind): size
            for party in run.parties
            for kind, size in (
                (Kind.HELLO, len(run.digest())),
                (Kind.REPORT, -1 if run.max_iterations % run.window else window),
                (Kind.DONE, 0),
            )
        }
        size = len(self._memory(0, Verdict(None, Status.CONVERGED)))
        self._slots = Slots(store, run.digest() + b"coordinator", size, 2)
        history = store.with_name(f"{store.name}.history")
        self._rows = Slots(history, run.digest(), 2, run.max_iterations + 1)
        self.letters = Correspondence(channel, run.id, sizes, run.patience, tell, run.window)

    def run(self) -> Verdict:
        """Judge window after window until the run ends."""
        try:
            return self._judge_all()
        except GridveilError as error:
            self.letters.stop_all(self._run.parties, str(error))
            raise

    def history(self, iterations: int) -> FloatArray:
        """Return the largest primal and dual residual of every iteration."""
        return np.array([self._rows.load(i) for i in range(1, iterations + 1)]).reshape(-1, 2)

    def _judge_all(self) -> Verdict:
        parties, window, most = self._run.parties, self._run.window, self._run.max_iterations
        t, verdict = self._restored()
        digests = dict.fromkeys(parties, self._run.digest())
        say_hello(self.letters, digests)
        if t == 0:
            await_hello(self.letters, COORDINATOR, digests)
        while verdict is None or verdict.stop is None:
            start, t = t, min(t + window, most)
            self.letters.advance(t)
            reports = self.letters.collect(Kind.REPORT, t, parties)
            for party, report in reports.items():
                if len(report) != (t - start) * REPORT_SIZE + _NETS:
                    raise GridveilError(f"{party} sends a report of a wrong length")
            verdict = self._judge(start, list(reports.values()))
            self._save(t, verdict)
            for party in parties:
                self.letters.post(Kind.VERDICT, t, party, verdict.values())
        return verdict

    def finish(self) -> None:
        """Stay until every party is done, for those who have not heard the end yet."""
        parties, t = self._run.parties, self.letters.clock
        for party in parties:
            self.letters.keep(Kind.DONE, t, party, np.zeros(0))
        self.letters.collect(Kind.DONE, t, parties)
        for party in parties:
            self.letters.post(Kind.DONE, t, party, np.zeros(0))
        self.letters.attend(_LINGERING_SECONDS)

    def _judge(self, start: int, reports: list[FloatArray]) -> Verdict:
        """Return the verdict on a window that began after iteration `start`."""
        rows = np.array([report[:-_NETS].reshape(-1, REPORT_SIZE) for report in reports])
        told = rows.sum(axis=0)
        told[:, [PRIMAL, DUAL]] = rows[:, :, [PRIMAL, DUAL]].max(axis=0)
        for k, row in enumerate(told):
            t, primal, dual = start + k + 1, float(row[PRIMAL]), float(row[DUAL])
            self._rows.save(t, row[[PRIMAL, DUAL]])
            calm = primal <= self._run.tolerance and dual <= self._run.tolerance
            self._calm = self._calm + 1 if calm else 0
            if self._calm >= ITERATIONS_WITHIN_TOLERANCE:
                return Verdict(t, Status.CONVERGED)
            if t >= self._run.max_iterations:
                return Verdict(t, Status.ITERATION_LIMIT)
        self._progress(t, primal, dual)
        if self._run.policy is Policy.PAPER:
            self._rho = paper_penalty(self._rho, float(t), primal, dual)
            return Verdict(None, Status.CONVERGED, rho=self._rho)
        loads, generators = (float(sum(report[i] for report in reports)) for i in (-2, -1))
        return Verdict(
            None, Status.CONVERGED, *evaluate_window(self._state, told, (loads, generators))
        )

    def _save(self, t: int, verdict: Verdict) -> None:
        """Write the verdict before anybody hears it."""
        self._slots.save((self._slots.last or 0) + 1, self._memory(t, verdict))

    def _memory(self, t: int, verdict: Verdict) -> FloatArray:
        """Return everything that a restarted coordinator needs, as one vector."""
        rest = [self._rho, self._calm, t]
        return np.concatenate([*map(np.ravel, self._state), rest, verdict.values()])

    def _restored(self) -> tuple[int, Verdict | None]:
        """Return the last iteration that was judged, and how; 0 at the start."""
        last = self._slots.last
        if last is None:
            return 0, None
        memory = self._slots.load(last)
        place = 0
        for array in self._state:
            array.ravel()[:] = memory[place : place + array.size]
            place += array.size
        self._rho, self._calm, t = float(memory[place]), *map(int, memory[place + 1 : place + 3])
        verdict = Verdict.of(memory[-VERDICT_SIZE:])
        self.letters.advance(t)
        for party in self._run.parties:
            self.letters.keep(Kind.VERDICT, t, party, verdict.values())
        return t, verdict
