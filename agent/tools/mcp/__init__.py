"""Tools of Model Context Protocol servers, each a program or an HTTP service of its own.

`tools` is what models call; above them `servers` keeps all connections, each of which one task of
`server` owns. `names`, `schemas` and `results` are pure: what a server says is untrusted, and they
make of it what may be shown to a model. `wire` is below them all.
"""
