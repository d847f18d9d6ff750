"""What loads have spent, in words: the same for pages and for verification."""

from gridveil.publication.certificate import Protection

_METRICS = {
    "absolute": "promises in MVA",
    "relative": "promises in per cent of a load",
    "log": "promises of a logarithmic distance",
    "energy": "promises of energy",
}


def spent_sentence(protection: Protection) -> str:
    """Say what the load that has spent most has spent, at which distance, and what else."""
    of, at = protection, "any distance"
    if of.cumulative_differs:
        at = "the distance of each load"
    elif of.cumulative_distance_mva is not None:
        at = f"{of.cumulative_distance_mva:g} MVA{'h' if of.kind == 'energy' else ''}"
    elif of.cumulative_relative_distance is not None:
        at = f"{100 * of.cumulative_relative_distance:g} %"
    if of.cumulative_floor_mva is not None:
        at += f" with a floor of {of.cumulative_floor_mva:g} MVA"
    sentence = f"ε = {of.cumulative_epsilon:g} in all {_METRICS[of.kind]}, at {at}"
    for metric, most in of.also_spent.items():
        sentence += f"; apart from that ε = {most:g} in {_METRICS[metric]}"
    return sentence
