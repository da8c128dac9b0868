"""How fast it is, measured: `python -m benchmarks`."""
