"""The examples in docstrings run."""

import doctest

import pytest

from gridveil.federation.partition import ownership, splitting
from gridveil.federation.transport import certs


@pytest.mark.parametrize("module", [ownership, splitting, certs], ids=lambda m: m.__name__)
def test_examples_run(module):
    ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0
