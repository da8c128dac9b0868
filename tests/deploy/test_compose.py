"""The compose files: each key is one that we know, and each name leads somewhere."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from tests.support.image.dockerfile import read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/compose"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
README = (ROOT / "deploy/README.md").read_text(encoding="utf-8")
Duration = Field(pattern=r"^\d+(ms|s|m|h)$")
Size = Field(pattern=r"^\d+[kmg]$")


class Part(BaseModel):
    """What we use of the Compose Specification, and no key beside it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Build(Part):
    context: str
    dockerfile: str


class Health(Part):
    test: list[str]
    interval: str = Duration
    timeout: str = Duration
    retries: int
    start_period: str = Duration


class Condition(Part):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]


class Replicas(Part):
    replicas: int = Field(ge=1)


class Service(Part):
    image: str
    build: Build | None = None
    command: list[str] = []
    environment: dict[str, str] = {}
    env_file: list[str] = []
    secrets: list[str] = []
    volumes: list[str] = []
    ports: list[str] = []
    depends_on: dict[str, Condition] = {}
    healthcheck: Health | None = None
    deploy: Replicas | None = None
    restart: Literal["unless-stopped"]
    stop_grace_period: str = Duration
    init: bool = False
    read_only: bool = False
    tmpfs: list[str] = []
    cap_drop: list[str] = []
    security_opt: list[str] = []
    pids_limit: int | None = None
    mem_limit: str | None = Field(default=None, pattern=r"^\d+[kmg]$")
    shm_size: str | None = Field(default=None, pattern=r"^\d+[kmg]$")


class Secret(Part):
    file: str


class Compose(Part):
    name: str
    services: dict[str, Service]
    volumes: dict[str, None]
    secrets: dict[str, Secret]
    template: Any = Field(default=None, alias="x-bough")


def loaded(name: str) -> Compose:
    return Compose.model_validate(yaml.safe_load((FOLDER / name).read_text(encoding="utf-8")))


def boughs(compose: Compose) -> dict[str, Service]:
    return {name: each for name, each in compose.services.items() if each.build is not None}


@pytest.mark.parametrize("name", FILES)
def test_every_name_leads_to_what_is_there(name: str) -> None:
    compose = loaded(name)
    used = list(compose.services.values())
    assert {secret for each in used for secret in each.secrets} == compose.secrets.keys()
    mounted = {volume.partition(":")[0] for each in used for volume in each.volumes}
    assert mounted == compose.volumes.keys()
    for service in used:
        assert service.depends_on.keys() <= compose.services.keys()
        for needed, condition in service.depends_on.items():
            if condition.condition == "service_healthy":
                assert compose.services[needed].healthcheck is not None
    for service in boughs(compose).values():
        assert service.build is not None
        root = (FOLDER / service.build.context).resolve()
        assert root == ROOT
        assert (root / service.build.dockerfile).exists()


@pytest.mark.parametrize("name", FILES)
def test_every_process_is_confined_as_the_image_allows(name: str) -> None:
    final = read(ROOT / "deploy/Dockerfile")[-1]
    for service in boughs(loaded(name)).values():
        assert service.read_only
        assert service.cap_drop == ["ALL"]
        assert service.security_opt == ["no-new-privileges:true"]
        assert [each.partition(":")[0] for each in service.tmpfs] == ["/tmp"]
        assert [each.partition(":")[2] for each in service.volumes] == [final.folder]
        assert int(service.stop_grace_period.removesuffix("s")) > 20
        for port in service.ports:
            assert port.startswith("127.0.0.1:")


@pytest.mark.parametrize("name", FILES)
def test_no_secret_stands_in_a_file_and_none_can_be_committed(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    code = re.sub(r"#.*", "", text)
    assert not re.search(r"(?i)(token|api_key|password)[ \t]*[:=][ \t]*[^/\s]", code)
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    compose = loaded(name)
    outside = {secret.file for secret in compose.secrets.values()}
    outside |= {file for each in compose.services.values() for file in each.env_file}
    for file in outside:
        assert f"/deploy/compose/{file.removeprefix('./')}" in ignored


def test_with_postgresql_one_takes_in_several_work_and_one_delivers() -> None:
    compose = loaded("postgres.yaml")
    roles = {
        name: service.command[service.command.index("--role") + 1]
        for name, service in boughs(compose).items()
    }
    assert roles == {name: name for name in ("ingress", "worker", "delivery")}
    worker = compose.services["worker"].deploy
    assert worker is not None and worker.replicas > 1


@pytest.mark.parametrize("name", FILES)
def test_the_readme_tells_of_it(name: str) -> None:
    assert f"deploy/compose/{name}" in README
