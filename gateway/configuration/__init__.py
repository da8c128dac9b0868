"""bough.toml and the environment: what they say (`config`), how faults in them are told (`faults`),
and which of their values are secret (`secret_values`). What holds now (`current`), and what of
another one can be taken over meanwhile (`takeover`).
"""
