"""What tells operators how the bot is: `/healthz`, `/readyz` and Prometheus' `/metrics`.

By `observer` other parts tell what happens; `choosing` says whether anybody listens. `monitor` is
the seam to what is served, `monitored` serves: `server` speaks HTTP, `readiness` asks the parts,
`metrics` counts, `labels` keeps what is counted by to few words, `gauges` shows what waits in the
database, `cached` keeps those who ask from loading it, `models` counts calls. Nothing of what is
written, or of who writes, comes in. prometheus_client is imported in `metrics` and `gauges` only,
and those only where `[server] listen` is set. Imports of the gateway the configuration alone.
"""
