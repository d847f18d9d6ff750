import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.series.prior_file import read_prior

ROWS = ["time,a_p,a_q,b_p,b_q"] + [
    f"1970-01-0{1 + t // 24}T{t % 24:02}:00Z,{t}e-3,{t}e-4,0.5,{t}e-2" for t in range(48)
]


@pytest.fixture
def written(tmp_path):
    def write(rows):
        path = tmp_path / "prior.csv"
        path.write_text("\n".join(rows) + "\n")
        return path

    return write


def test_the_hours_of_the_release_are_taken_in_their_order(written):
    prior = read_prior(written([ROWS[0], *reversed(ROWS[1:])]), 5, 24)
    assert np.allclose(prior.p[0], np.arange(5, 29) / 1000)
    assert np.allclose(prior.q[1], np.arange(5, 29) / 100)
    assert prior.source == "2 public profiles of prior.csv"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:20], "no row for 1970-01-01T19:00Z.*5 of 24 are missing"),
        ([row.rsplit(",", 1)[0] for row in ROWS], "b_p has no b_q"),
        ([row.rsplit(",", 2)[0] for row in ROWS], "at least two customers"),
        ([*ROWS[:3], "1970-01-01T02:00Z,x,0,0,0", *ROWS[4:]], "prior.csv:4.*not a number"),
    ],
)
def test_what_is_no_prior_is_refused_with_its_place(written, rows, message):
    with pytest.raises(GridveilError, match=message):
        read_prior(written(rows), 0, 24)
