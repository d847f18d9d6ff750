"""Whether what comes out of real draws lies where a forecast made beforehand says.

Run: .venv/bin/python -m benchmarks.plan_forecast [DRAWS]   (about five minutes on two cores)

The draws are those of a release: the exact sampler, with entropy of the operating system. Nothing
of them is written. They are restored by the same steps, and compared with the forecast's bands.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.noise_kinds import made_up_ratings
from benchmarks.report import write_table
from gridveil import Network, ReleasePlan, load_case, plan_release, solve_acopf
from gridveil.arrays import FloatArray
from gridveil.privacy.mechanisms.base import Mechanism, checked_loads, checked_release
from gridveil.privacy.phase import NoisyLoads, Origin
from gridveil.privacy.sampling.grid import from_grid, to_grid, total_on_grid
from gridveil.publication.case_file import blank
from gridveil.publication.forecast.errors import LoadErrors
from gridveil.publication.forecast.forecast import Forecast
from gridveil.publication.forecast.statistics import Spread
from gridveil.publication.forecast.trials import Made, trial_of

DRAWS = 9
"""Real draws of each network that are restored."""
NOISE_DRAWS = 99
"""Real draws for figures of the noise alone."""
SEED = 20_000
FIGURES = {
    "noise: half of the loads": lambda f: f.noise.median_relative,
    "noise: nine of ten": lambda f: f.noise.most_relative,
    "noise: total": lambda f: f.noise.total_relative,
    "released: half of the loads": lambda f: f.restoring.errors.median_relative,
    "released: total": lambda f: f.restoring.errors.total_relative,
    "cost": lambda f: f.restoring.cost_error,
}  # fmt: skip
"""The figures compared, as a forecast has them."""


@dataclass(frozen=True)
class Setting:
    """A network, and what is hidden of its loads."""

    name: str
    hide: str = "10%"


SETTINGS = (
    Setting("case3_lmbd"), Setting("case5_pjm"), Setting("case14_ieee"),
    Setting("case24_ieee_rts"), Setting("case30_as"), Setting("case30_ieee"),
    Setting("case39_epri"), Setting("case39_epri", "10MVA"), Setting("case57_ieee"),
    Setting("case57_ieee", "1MVA"), Setting("case60_c"), Setting("case73_ieee_rts"),
    Setting("case89_pegase"), Setting("case118_ieee"), Setting("case118_ieee", "10MVA"),
    Setting("case162_ieee_dtc"), Setting("case179_goc"), Setting("case200_activ"),
    Setting("case300_ieee"), Setting("case33bw"),
    Setting("create_cigre_network_mv", "10%rating"), Setting("create_cigre_network_mv", "0.1MVA"),
    Setting("mv_oberrhein", "0.05MVA"), Setting("create_cigre_network_lv", "5kVA"),
    Setting("create_kerber_vorstadtnetz_kabel_1", "1kVA"),
)  # fmt: skip


def network_of(name: str) -> Network:
    """Return a PGLib network by its name, or a feeder of pandapower as an OPF needs it.

    A feeder gets a price for what the external grid supplies. Phase shifts, iron losses and
    embedded generation are left out.
    """
    if name.startswith("case") and name != "case33bw":
        return load_case(name)
    import pandapower
    import pandapower.networks

    net = getattr(pandapower.networks, name)()
    for column in ("shift_degree", "pfe_kw", "i0_percent"):
        net.trafo[column] = 0.0
    net.sgen.drop(net.sgen.index, inplace=True)
    net.poly_cost.drop(net.poly_cost.index, inplace=True)
    for grid in net.ext_grid.index:
        pandapower.create_poly_cost(net, int(grid), "ext_grid", cp1_eur_per_mw=60.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.json"
        pandapower.to_json(net, str(path))
        return load_case(path)


def drawn(plan: ReleasePlan, loads: FloatArray) -> FloatArray:
    """Return private loads drawn as a release draws them, a bought total taken into account."""
    mechanism: Mechanism = plan.mechanism
    private = checked_loads(mechanism, checked_release(mechanism, loads))
    steps = plan.steps()
    bought = steps.total_mechanism
    if bought is None:
        return private
    total = bought.release(total_on_grid(to_grid(loads, bought.step)))
    return steps.fitted(private, from_grid(total, bought.step)[0], bought)


def run(setting: Setting, draws: int) -> tuple[Forecast, dict[str, list[float]], int]:
    """Return a forecast, the figures of real draws, and how many of these were released."""
    warnings.simplefilter("ignore")
    network = network_of(setting.name)
    with tempfile.TemporaryDirectory() as folder:
        rated = setting.hide.endswith("rating")
        plan = plan_release(
            network,
            hide=setting.hide,
            ratings=made_up_ratings(network) if rated else None,
            ledger=Path(folder) / "ledger.sqlite",
        )
    forecast = plan.forecast(seed=SEED)
    loads, base = network.loads.values, network.base_mva
    true_cost, guarantee = solve_acopf(network).cost, plan.mechanism.guarantee()
    private = [drawn(plan, loads) for _ in range(max(draws, NOISE_DRAWS))]
    noise = [LoadErrors.of(loads, one[None], base) for one in private]
    trials = [
        trial_of(plan.steps(), blank(network), NoisyLoads(*one.T, guarantee, Origin.EXACT, None))
        for one in private[:draws]
    ]
    made: list[Made] = [trial.made for trial in trials if trial.made is not None]
    errors = [LoadErrors.of(loads, one.loads[None], base) for one in made]
    figures = {
        "noise: half of the loads": [_value(one.median_relative) for one in noise],
        "noise: nine of ten": [_value(one.most_relative) for one in noise],
        "noise: total": [_value(one.total_relative) for one in noise],
        "released: half of the loads": [_value(one.median_relative) for one in errors],
        "released: total": [_value(one.total_relative) for one in errors],
        "cost": [one.cost / true_cost - 1 for one in made],
    }
    return forecast, figures, len(made)


def _value(figure: Spread | None) -> float:
    """Return a figure of one release."""
    return float("nan") if figure is None else figure.median


def band(forecast: Forecast, name: str) -> Spread | None:
    figure: Callable[[Any], Spread | None] = FIGURES[name]
    return figure(forecast)


def cells(forecast: Forecast, figures: dict[str, list[float]]) -> Iterator[str]:
    """Yield for each figure the median of the real draws, the band, and a mark if it is outside."""
    for name, values in figures.items():
        found = band(forecast, name)
        if found is None or not values:
            yield "nothing released"
            continue
        median = float(np.median(values))
        mark = "" if found.holds(median) else " **outside**"
        yield f"{median:.1%} in {found.low:.1%} … {found.high:.1%}{mark}"


def main(draws: int) -> None:
    done = Parallel(n_jobs=2, batch_size=1, verbose=5)(
        delayed(run)(setting, draws) for setting in SETTINGS
    )
    rows: list[list[str]] = [
        [setting.name, setting.hide, f"{made} of {draws}", *cells(forecast, figures)]
        for setting, (forecast, figures, made) in zip(SETTINGS, done, strict=True)
    ]
    medians, singles = ["medians inside", "", ""], ["single draws inside", "", ""]
    for name in FIGURES:
        held = [
            [found.holds(value) for value in figures[name]]
            for forecast, figures, _ in done
            if (found := band(forecast, name)) is not None
        ]
        inside = sum(
            found.holds(float(np.median(figures[name])))
            for forecast, figures, _ in done
            if (found := band(forecast, name)) is not None
        )
        medians.append(f"{inside} of {len(held)}")
        singles.append(f"{np.mean([one for of_network in held for one in of_network]):.0%}")
    write_table(
        "plan_forecast",
        f"Forecasts at ε = 1 from 20 simulated releases, and then real draws of the exact sampler: "
        f"{NOISE_DRAWS} for the noise alone, of which {draws} were restored. Each cell has the "
        "median of the real draws and the band in which the forecast expects nine of ten releases.",
        ("network", "hidden", "released", *FIGURES),
        [*rows, medians, singles],
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
