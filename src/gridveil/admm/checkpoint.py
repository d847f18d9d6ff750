"""Checkpoints: a run on disk, from which it continues exactly as if it had never stopped."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np

from gridveil.admm.draw import Draw
from gridveil.admm.history import History
from gridveil.admm.layout import Layout
from gridveil.admm.policy import Policy
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.files import write_atomically

_FORMAT = 3
_FORMAT_WITHOUT_NUMBER = 2
"""The format before: it has no number in the file, and other arrays of the penalty rules."""
_FINGERPRINT = 2
"""Version of the fingerprint, the same for both formats."""


def fingerprint(layout: Layout, draw: Draw, policy: Policy) -> str:
    """Return a digest of a problem, so that a run is only continued with its own.

    Where all loads count alike it is the one of versions without weights.
    """
    digest = hashlib.sha256(f"{_FINGERPRINT} {policy.value}".encode())
    for array in (*layout, *draw.distinguishing):
        digest.update(str((array.dtype, array.shape)).encode() + array.tobytes())
    return digest.hexdigest()


def save_checkpoint(path: Path | str, problem: str, state: State, history: History) -> None:
    """Write a run to a file; if the process is killed meanwhile, the last checkpoint remains."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        format=np.array(_FORMAT),
        problem=np.array(problem),
        **{f"state_{name}": array for name, array in state._asdict().items()},
        **{f"history_{name}": array for name, array in vars(history).items()},
    )
    write_atomically(Path(path), buffer.getvalue())


def load_checkpoint(path: Path | str, problem: str) -> tuple[State, History] | None:
    """Read a run from a file, None if there is no such file; refuse that of another problem."""
    try:
        with np.load(path, allow_pickle=False) as file:
            content = dict(file)
        number, found = int(content.get("format", _FORMAT_WITHOUT_NUMBER)), str(content["problem"])
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise GridveilError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # whatever zip, zlib and NumPy raise for a file that is none of ours
        raise _damaged(path) from error
    if number > _FORMAT:
        raise GridveilError(
            f"{path} was written by a newer version of Gridveil; update Gridveil, delete the file "
            "or name another one"
        )
    if found != problem:
        raise GridveilError(
            f"{path} is the checkpoint of another run (other network, draw, costs, beta or "
            "policy); delete it or name another file"
        )
    try:
        state = _state_of_format_2(content) if number < _FORMAT else _state(content)
        names = (spec.name for spec in fields(History))
        return state, History(**{name: content[f"history_{name}"] for name in names})
    except (KeyError, ValueError) as error:
        raise _damaged(path) from error


def _damaged(path: Path | str) -> GridveilError:
    return GridveilError(
        f"{path} is not a checkpoint of a run, or is damaged; delete it or name another file"
    )


def _state(content: Mapping[str, FloatArray]) -> State:
    return State(**{name: content[f"state_{name}"] for name in State._fields})


def _state_of_format_2(content: Mapping[str, FloatArray]) -> State:
    """Return the state in a file of format 2, which has other names and shares arrays."""
    window_gap, window_step, *_ = content["state_ways"]
    window_primal, last_window_primal = content["state_residuals"]
    iteration, within_tolerance_count = content["state_iteration"]
    return State(
        x=content["state_x"],
        z=content["state_z"],
        dual=content["state_dual"],
        rho=content["state_rho"],
        line_solution=content["state_lines"],
        window_z=content["state_window_z"],
        window_gap=window_gap.copy(),
        window_step=window_step.copy(),
        direction_changes=content["state_turns"],
        last_factor=content["state_last_factor"],
        relative_penalty=content["state_raised"],
        window_primal=np.array([window_primal]),
        last_window_primal=np.array([last_window_primal]),
        penalty_floor=content["state_floor"],
        iteration=np.array([iteration]),
        within_tolerance_count=np.array([within_tolerance_count]),
    )
