"""The seam to a model (`base`), and all that stands between a request and a provider.

`registry` finds the model for a tier or a name; budgets, retries, fallbacks and metering wrap one
another; `prompt_cache` is what providers keep of requests; `litellm_model` is the real one,
`scripted` and `demo` ship with Bough. `litellm_prices` is what models cost that are configured
without a price.
"""
