"""The wire to one MCP server. `connection` is the seam; the SDK behind it is known to `sdk`,
`stdio` and `streamable` alone, which `loading` imports late.

`guardian` runs by itself, beside a server's process, and ends it. `lines`, `pace` and `mending` are
pure: they bound and mend what a server sends. Nothing here imports anything of the folder above.
"""
