# ruff: noqa: F401
"""What a gateway of the tests imports sooner or later: the command line and all that it makes, its
platforms, litellm, the migrations. Bough and libraries import some of it late, so that they start
fast: here each has to be named, or every process that is forked imports it anew, for a second."""

import asyncio
import gc

import anyio._backends._asyncio
import anyio.streams.tls
import httpcore

import adapters.discord.adapter
import adapters.discord.checkup
import adapters.telegram.adapter
import adapters.telegram.checkup
import adapters.telegram.inbound.webhook
import gateway.cli.main
import gateway.monitoring.metrics
import gateway.monitoring.server
import storage.sql.migrate
import storage.sql.store
from agent.models.litellm.model import LitellmModel

asyncio.run(LitellmModel().warm_up())
gc.freeze()  # what is collected in a fork is not shared any more
