"""Who is not asked starts no slower."""

import subprocess
import sys

from gateway.configuration.config import ServerConfig
from gateway.monitoring.choosing import monitor_of
from gateway.monitoring.monitor import Unmonitored
from tests.support.stores import fresh_store

LATE = ("prometheus_client", "gateway.monitoring.server", "adapters.serving.bounded_http")


async def test_nobody_listens_where_no_place_is_given() -> None:
    async with fresh_store() as store:
        assert isinstance(monitor_of(ServerConfig(), store), Unmonitored)


def test_the_gateway_starts_without_the_libraries_of_who_listens() -> None:
    code = f"import sys, gateway.app; print([name for name in {LATE} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
