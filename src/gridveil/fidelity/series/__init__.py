"""The fidelity phase of a series: hour by hour, each warm from the hour before."""
