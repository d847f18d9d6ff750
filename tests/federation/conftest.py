"""Compiles what members need before a test begins: nobody's patience is for that."""

import pytest

from gridveil.federation.deployment.members import warm_up


@pytest.fixture(scope="session", autouse=True)
def compiled():
    warm_up(str)
