"""Long contexts made short: where to cut (`cut`), the summary a model writes (`summary`), when.

`service` does it for a turn. Imports runtime and models; the gateway's turns and commands use it.
"""
