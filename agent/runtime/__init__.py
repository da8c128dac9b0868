"""The loop of every agent, and the session as it works on it.

`context` builds what a model is shown from a path; `next_step` says from a path's end what comes
next, so a turn that died goes on; `loop` does that, by one of two `steps`: it calls the model, or
runs the tools, again those that waited for `people`. `chosen_model` finds the model that was chosen
on a path, `waiting_calls` what waits there; `journal` appends.
"""
