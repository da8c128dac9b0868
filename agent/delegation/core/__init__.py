"""A delegation as a pure function of its events: no model, no store, no clock.

`machine` says the next step from a `state`; a worker's report is matched to its table in `report`
and goes along it in `routes`; `judging` reads what judges and overseers say, and `looking` is what
a judge may look at. `arguments` is how a call's arguments are read; `text_calls`
finds a call written into a text.
"""
