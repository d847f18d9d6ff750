import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib.collections import LineCollection

from gridveil import release
from gridveil.opf.operating_point import complex_flows


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return release("case39_epri", tmp_path_factory.mktemp("plot") / "ledger.sqlite")


def test_lines_are_drawn_by_their_loading(made):
    axes = made.plot()
    network, point = made.published.network, made.published.point
    flow = np.max(np.abs(complex_flows(network, point)), axis=0)
    loading = flow / network.lines.rate
    drawn = {
        part.get_label(): len(part.get_segments())
        for part in axes.collections
        if isinstance(part, LineCollection)
    }
    assert sum(drawn.values()) == len(network.lines)
    assert drawn.get("line above 95 %", 0) == (loading >= 0.95).sum()


def test_larger_loads_are_larger_dots(made):
    axes = made.plot()
    dots = next(part for part in axes.collections if part.get_label() == "load")
    size = np.hypot(*made.published.network.bus_load())
    assert (np.argsort(dots.get_sizes()) == np.argsort(size[size > 0])).all()


def test_frames_hold_what_the_folder_holds(made, tmp_path):
    made.save(tmp_path / "out")
    table = made.to_frame()
    lines = (tmp_path / "out" / "loads.csv").read_text().splitlines()
    assert list(table.columns) == lines[0].split(",")
    assert table.p_mw.tolist() == [float(line.split(",")[2]) for line in lines[1:]]


def test_text_forms_are_short(made):
    assert "21 loads" in repr(made)
    assert len(repr(made)) < 300
    assert len(repr(made.restored)) < 300
    assert made._repr_html_().startswith("<table>")
