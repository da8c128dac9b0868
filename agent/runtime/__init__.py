"""The loop of every agent, and the session as it works on it.

`context` builds what a model is shown from a path; `next_step` says from a path's end what comes
next, so a turn that died goes on; `loop` asks the model and runs the tools, again those that waited
for `people`; `journal` appends.
"""
