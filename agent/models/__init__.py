"""The seam to a model (`base`), and all that stands between a request and a provider.

`registry` finds the model for a tier or a name; budgets, retries, fallbacks and metering wrap one
another; `heard` is what came of a streamed answer; `media` is for pictures and voices; `litellm`
is the real one, `scripted` and `demo` ship with Bough.
"""
