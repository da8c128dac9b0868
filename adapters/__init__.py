"""Platforms, thin: what happens there as updates, what is to be said there as calls.

`events` come in, `base` is the seam and what goes out, `recording` is the fake that ships;
`platforms` says what differs between them, and builds their adapters from the `settings` that the
configuration has; `inbound` says which updates wait for which; `cleaning` makes foreign text fit;
`timeliness` keeps back what would be sent too late. An adapter keeps nothing and decides nothing.
Imports nothing of Bough.
"""
