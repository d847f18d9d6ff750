"""pandapower, which is an extra: pip install 'gridveil[pandapower]'."""

from typing import Any

from gridveil.errors import GridveilError


def import_pandapower() -> Any:
    """Return the module pandapower.

    Raises:
        GridveilError: It is not installed.
    """
    try:
        import pandapower  # type: ignore[import-untyped]
    except ImportError:
        raise GridveilError(
            "pandapower is not installed; pip install 'gridveil[pandapower]'"
        ) from None
    return pandapower
