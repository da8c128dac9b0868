"""The seam to a model (`base`), and all that stands between a request and a provider.

`registry` finds the model for a tier or a name; budgets (`spending`), `retry`, `fallback`, `traced`
and `metering` wrap one another; `usage` is what a call used, `heard` what came of a streamed
answer, `replay` what only the same model may be shown again; `media` is for pictures and voices;
`litellm` is the real one, `scripted` and `demo` ship with Bough.
"""
