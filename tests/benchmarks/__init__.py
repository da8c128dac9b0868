"""How fast it is, measured: `python -m tests.benchmarks`."""
