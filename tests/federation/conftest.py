"""Compiles the agents before a test begins: the patience of members does not cover that."""

import pytest

from gridveil.federation.protocol.compilation import compile_agents


@pytest.fixture(scope="session", autouse=True)
def compiled():
    compile_agents(str)
