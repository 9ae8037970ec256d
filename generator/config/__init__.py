"""Fidelity *config*: a model of which only the published configuration and file sizes are known, as a tensor table that is an estimate."""
