"""A run on disk, from which it goes on exactly as if it had never stopped."""

import hashlib
import io
from pathlib import Path

import numpy as np

from gridveil.admm.history import History
from gridveil.admm.layout import Layout
from gridveil.admm.policy import Policy
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.files import write_atomically

_FORMAT = 2


def fingerprint(layout: Layout, noisy: FloatArray, policy: Policy) -> str:
    """Return what tells one problem from another, so that a run goes on with its own."""
    digest = hashlib.sha256(f"{_FORMAT} {policy.value}".encode())
    for array in (*layout, noisy):
        digest.update(str((array.dtype, array.shape)).encode() + array.tobytes())
    return digest.hexdigest()


def save_checkpoint(path: Path | str, problem: str, state: State, history: History) -> None:
    """Write where a run stands; a process killed meanwhile leaves the last one."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        problem=np.array(problem),
        **{f"state_{name}": array for name, array in state._asdict().items()},
        **{f"history_{name}": array for name, array in vars(history).items()},
    )
    write_atomically(Path(path), buffer.getvalue())


def load_checkpoint(path: Path | str, problem: str) -> tuple[State, History] | None:
    """Read where a run stood, None if there is no such file; refuse that of another problem."""
    try:
        with np.load(path, allow_pickle=False) as file:
            content = dict(file)
        found = str(content["problem"])
        state = State(**{name: content[f"state_{name}"] for name in State._fields})
        names = History.__dataclass_fields__
        history = History(**{name: content[f"history_{name}"] for name in names})
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise GridveilError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # whatever zip, zlib and NumPy make of a file that is none of ours
        raise GridveilError(
            f"{path} is not a checkpoint of a run, or is damaged; delete it or name another file"
        ) from error
    if found != problem:
        raise GridveilError(
            f"{path} is the checkpoint of another run (other network, draw, costs, beta or "
            "policy); delete it or name another file"
        )
    return state, history
