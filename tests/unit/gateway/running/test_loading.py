"""Whether what the models need is loaded."""

import pytest

from gateway.running.loading import Loading


async def test_it_says_whether_the_models_are_loaded() -> None:
    said: list[str] = []

    async def load() -> None:
        said.append(loading.said)

    loading = Loading(load)
    await loading.run()
    assert [*said, loading.said] == ["models loading", "models loaded"]


async def test_where_what_they_need_is_missing_it_says_so_and_nothing_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def load() -> None:
        raise ImportError("pip install this")

    loading = Loading(load)
    await loading.run()
    assert loading.said == "models missing"
    assert "pip install this" in caplog.text


async def test_where_nothing_need_be_loaded_it_says_nothing() -> None:
    loading = Loading()
    await loading.run()
    assert not loading.said
