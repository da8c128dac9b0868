"""The web toolset: `tools` offers it, `client` holds what one gateway shares.

`urls` and `addresses` say where one may go (pure), `resolving` and `connecting` go there,
`fetching` gets a page's bytes, `bodies` unpacks them, `reading` makes text of them, `engines` knows
the search services. Imports point from `tools` down to `urls`.
"""
