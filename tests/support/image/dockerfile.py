"""A Dockerfile, read strictly: what is not understood here is an error, not passed over."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never


class DockerfileError(Exception):
    """A line that is not understood; the text names it."""


@dataclass(frozen=True, slots=True)
class Run:
    script: str


@dataclass(frozen=True, slots=True)
class Copy:
    sources: tuple[str, ...]
    target: str
    stage: str | None
    """Another stage, where the files are from one."""


Step = Run | Copy


@dataclass(slots=True)
class Stage:
    name: str
    base: str
    steps: list[tuple[Step, str, dict[str, str], str]] = field(default_factory=list)
    """Each with the folder, the environment and the user it is done with."""
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    stop_signal: str = "SIGTERM"
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


def read(path: Path) -> list[Stage]:
    """Its stages, in order. DockerfileError where a line is not understood."""
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    for instruction, rest in _instructions(path.read_text(encoding="utf-8")):
        if instruction == "ARG" and not stages:
            name, _, default = rest.partition("=")
            arguments[name] = default
        elif instruction == "FROM":
            stages.append(_from(_filled(rest, arguments), len(stages)))
        elif not stages:
            raise DockerfileError(f"{instruction} stands before FROM")
        else:
            _take(stages[-1], instruction, rest)
    return stages


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    for line in filter(str.strip, joined.splitlines()):
        instruction, _, rest = line.strip().partition(" ")
        yield instruction.upper(), rest.strip()


def _from(rest: str, number: int) -> Stage:
    match rest.split():
        case [base]:
            return Stage(str(number), base)
        case [base, as_, name] if as_.upper() == "AS":
            return Stage(name, base)
        case _:
            raise DockerfileError(f"FROM {rest}")


def _take(stage: Stage, instruction: str, rest: str) -> None:
    match instruction:
        case "ENV":
            for pair in shlex.split(rest):
                name, equals, value = pair.partition("=")
                if not equals:
                    raise DockerfileError(f"ENV {rest}")
                stage.environment[name] = _filled(value, stage.environment)
        case "WORKDIR":
            stage.folder = rest
        case "USER":
            stage.user = rest
        case "RUN" | "COPY":
            step = Run(rest) if instruction == "RUN" else _copy(rest)
            stage.steps.append((step, stage.folder, dict(stage.environment), stage.user))
        case "ENTRYPOINT":
            stage.entrypoint = _words(rest)
        case "CMD":
            stage.command = _words(rest)
        case "HEALTHCHECK":
            stage.health = _words(rest.partition("CMD ")[2])
        case "VOLUME":
            stage.volumes = _words(rest)
        case "EXPOSE":
            stage.ports += tuple(map(int, rest.split()))
        case "STOPSIGNAL":
            stage.stop_signal = rest
        case _:
            raise DockerfileError(f"{instruction} {rest}")


def _copy(rest: str) -> Copy:
    words = rest.split()
    stage = None
    while words and words[0].startswith("--"):
        option, _, value = words.pop(0).partition("=")
        if option != "--from":
            raise DockerfileError(f"COPY {rest}")
        stage = value
    if len(words) < 2:
        raise DockerfileError(f"COPY {rest}")
    return Copy(tuple(words[:-1]), words[-1], stage)


def _words(rest: str) -> tuple[str, ...]:
    """A list in JSON: anything else would be run by a shell, which signals would end instead."""
    try:
        words = json.loads(rest)
    except ValueError:
        raise DockerfileError(f"not a list of words: {rest}") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DockerfileError(f"not a list of words: {rest}")
    return tuple(words)


def _filled(text: str, values: dict[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in values:
            raise DockerfileError(f"{name} is not known: {text}")
        return values[name]

    return re.sub(r"\$\{(\w+)\}|\$(\w+)", value, text)


def shown(step: Step) -> str:
    match step:
        case Run():
            return f"RUN {step.script}"
        case Copy():
            origin = f"--from={step.stage} " if step.stage else ""
            return f"COPY {origin}{' '.join(step.sources)} {step.target}"
        case _:
            assert_never(step)
