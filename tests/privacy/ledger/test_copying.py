"""A ledger copied between a file and a database is the same book."""

import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import Ledger
from tests.privacy.ledger.owners import draw, spending

SPENDING = spending()


@pytest.mark.parametrize("to_database", [True, False])
def test_a_copy_has_every_row_budget_and_private_load(tmp_path, database, to_database):
    file = tmp_path / "ledger.sqlite"
    source, target = (file, database) if to_database else (database, file)
    ledger = Ledger(source)
    drawn = ledger.spend("r", SPENDING, draw)
    ledger.set_cap(7, "a network", distance="0.1", reason="why not")
    ledger.set_group("a network", "both", ["bus 3", "bus 5"])
    ledger.copy_to(target)
    copy = Ledger(target)
    assert copy.identity == ledger.identity
    assert copy.history() == ledger.history()
    assert copy.history()[-1].kind == "copied"
    assert (copy.accounts(), copy.groups()) == (ledger.accounts(), ledger.groups())
    assert copy.spend("r", SPENDING, lambda: pytest.fail("drawn again")).tolist() == drawn.tolist()
    assert copy.inspect().problems == ()
    copy.spend("s", SPENDING, draw)
    with pytest.raises(GridveilError, match="nothing is copied over it"):
        ledger.copy_to(target)
