"""Members that all die at an iteration and start again end as if nothing had happened."""

import numpy as np
import pytest

from gridveil.federation.partition.ownership import partition
from gridveil.federation.protocol.messages import MessageKind, decode, run_digest
from tests.federation.in_process import QueueChannel, federated, joined, problem, together

RUN = run_digest("test")


class Died(BaseException):
    """As good as kill -9: nobody gets a message."""


def dying_at(iteration, kind):
    class Dying(QueueChannel):
        def send(self, to, data):
            message = decode(RUN, data)
            if (message.iteration, message.kind) >= (iteration, kind):
                raise Died
            super().send(to, data)

    return Dying


@pytest.mark.parametrize(
    ("policy", "iteration", "kind"),
    [
        *(("fast", t, MessageKind.COPIES) for t in (0, 1, 5, 10, 11, 20)),
        *(("fast", t, MessageKind.CONSENSUS) for t in (0, 9, 10)),
        *(("fast", t, MessageKind.REPORT) for t in (10, 20, 35)),
        *(("fast", t, MessageKind.DECISION) for t in (10, 20, 35)),
        ("fast", 35, MessageKind.DONE),
        *(
            ("paper", t, kind)
            for t in (1, 2)
            for kind in (MessageKind.COPIES, MessageKind.DECISION)
        ),
    ],
)
def test_all_die_and_start_again(tmp_path, policy, iteration, kind):
    network, costs, noisy, beta = problem("case14_ieee")
    options = {"policy": policy, "max_iterations": 35}
    owned = partition(network, 3)
    dead, *_ = federated(
        network, costs, noisy, beta, owned, tmp_path, dying_at(iteration, kind), patience=1.0,
        **options,
    )  # fmt: skip
    assert any(isinstance(one, Died) for one in dead.values())
    found, parts, *_ = federated(network, costs, noisy, beta, owned, tmp_path, **options)
    for name, result in found.items():
        assert not isinstance(result, BaseException), (name, result)
    one = together(network, costs, noisy, beta, **options)
    values = joined(network, found, parts)
    np.testing.assert_array_equal(values["p"], one.p)
    np.testing.assert_array_equal(values["v"], one.point.v)
    assert found["coordinator"].stop == one.agents.iterations
