"""Whether work is good: `judge` and `overseer` ask for a `verdict`."""
