"""PowSyBl's grid model (IIDM), which its readers of many formats make, to networks."""
