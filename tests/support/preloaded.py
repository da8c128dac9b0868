"""What a gateway of the tests imports sooner or later: its platforms, litellm, the migrations."""

import asyncio
import gc

import storage.sql.migrate  # noqa: F401
from agent.models.litellm.model import LitellmModel

asyncio.run(LitellmModel().warm_up())
gc.freeze()  # what is collected in a fork is not shared any more
