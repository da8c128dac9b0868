"""One command, confined, from its start to its end.

`process` runs it, with `output` and `usage`, in a group of the kernel's from `cgroup` where one is
delegated to the gateway; `launcher` starts it: by bubblewrap, whose arguments
are made in `bubblewrap` and whose filter of system calls in `seccomp`, by way of `scoped` where it
has the network; or, where the operator wants no sandbox, by `supervisor`, a program of its own.
`place` is the workspace as a command gets it, with what is `shown` besides and its `cache`; `probe`
tries whether all that holds here, `toolchain` what commands have to work with. Imports
agent.tools.files.workspace and nothing else of agent.tools.
"""
