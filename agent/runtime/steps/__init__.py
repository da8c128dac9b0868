"""The two steps of a loop, each for an agent at work in a session (`agent`): `model_calls` asks the
model and appends its reply (`replies` are the parts of one), `tool_runs` runs the tools that it
called. Neither knows the loop.
"""
