"""The manifests: put together by kubectl, held against Kubernetes' own schemas, and against what
the gateway is."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from yarl import URL

from adapters.serving.listening import Listen
from gateway.configuration.config import load
from tests.support.image.dockerfile import read
from tests.support.programs import program, run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/kubernetes"
SCHEMAS = json.loads(Path(__file__).with_name("kubernetes-1.32.json").read_text(encoding="utf-8"))
WHOLE = ("base", "scaled", "webhook")
ROLES = {"ingress", "worker", "delivery"}


@cache
def built(name: str) -> list[dict[str, Any]]:
    text = run(program("kubectl", "kubernetes-client"), "kustomize", str(FOLDER / name))
    return list(yaml.safe_load_all(text))


def plain() -> list[dict[str, Any]]:
    """Every document as it stands in the files, which needs no kubectl."""
    files = [path for path in FOLDER.rglob("*.yaml") if path.name != "kustomization.yaml"]
    return [each for path in files for each in yaml.safe_load_all(path.read_text("utf-8"))]


def check(document: dict[str, Any]) -> None:
    schema = {**SCHEMAS["kinds"][document["kind"]], "$defs": SCHEMAS["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(document)


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [each for each in plain() if each["kind"] == kind]


def test_every_document_is_one_that_kubernetes_takes() -> None:
    assert plain()
    for document in plain():
        check(document)


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_put_together_is_what_kubernetes_takes(name: str) -> None:
    for document in built(name):
        check(document)
        assert document["metadata"].get("namespace", "bough") == "bough"


def test_a_key_that_kubernetes_does_not_know_is_found() -> None:
    document = of_kind("Deployment")[0]
    document["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(jsonschema.ValidationError):
        check(document)


@pytest.mark.parametrize("name", WHOLE)
def test_what_selects_pods_selects_those_of_a_deployment(name: str) -> None:
    documents = built(name)
    pods = [
        each["spec"]["template"]["metadata"]["labels"]
        for each in documents
        if each["kind"] == "Deployment"
    ]
    for each in documents:
        spec = each.get("spec", {})
        wanted = spec.get("selector", spec.get("podSelector", {}))
        wanted = wanted.get("matchLabels", wanted)
        assert any(wanted.items() <= labels.items() for labels in pods), each["metadata"]


def test_every_role_is_there_and_confined() -> None:
    roles = set()
    for deployment in of_kind("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        arguments = container["args"]
        roles.add(arguments[arguments.index("--role") + 1])
        user, _, group = read(ROOT / "deploy/Dockerfile")[-1].user.partition(":")
        secured = pod["securityContext"]
        assert secured["runAsNonRoot"]
        assert (secured["runAsUser"], secured["runAsGroup"]) == (int(user), int(group))
        assert secured["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["terminationGracePeriodSeconds"] > 20
        assert not pod["automountServiceAccountToken"]
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounted == {"/etc/bough", "/data", "/tmp"}
    assert roles == ROLES


def test_probes_ask_where_the_image_listens() -> None:
    final = read(ROOT / "deploy/Dockerfile")[-1]
    for deployment in of_kind("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert [port["containerPort"] for port in container["ports"]] == list(final.ports)
        asked = {
            probe: container[probe]["httpGet"]["path"]
            for probe in ("startupProbe", "livenessProbe", "readinessProbe")
        }
        assert asked == {
            "startupProbe": "/healthz",
            "livenessProbe": "/healthz",
            "readinessProbe": "/readyz",
        }


def test_the_gateway_reads_the_configuration_and_the_example_of_the_secret() -> None:
    (secret,) = of_kind("Secret")
    config = load(FOLDER / "base/bough.toml", secret["stringData"])
    assert config.telegram is not None
    assert config.storage.url.startswith("postgresql://")
    assert all(model is not None for model in (config.models.parent, config.models.worker))


def test_the_secret_is_no_part_of_what_is_applied() -> None:
    for name in WHOLE:
        resources = yaml.safe_load((FOLDER / name / "kustomization.yaml").read_text("utf-8"))
        assert not [each for each in resources["resources"] if "secret" in each]


def only(documents: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [d for d in documents if (d["kind"], d["metadata"]["name"]) == (kind, name)]
    return found


def test_what_telegram_brings_reaches_the_port_at_which_ingress_listens() -> None:
    documents = built("webhook")
    (pod,) = only(documents, "Deployment", "bough-ingress")["spec"]["template"]["spec"][
        "containers"
    ]
    ports = {port["name"]: port["containerPort"] for port in pod["ports"]}
    (given,) = [d for d in documents if d["metadata"]["name"].startswith("bough-webhook-")]
    for deployment in (d for d in documents if d["kind"] == "Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {"configMapRef": {"name": given["metadata"]["name"]}} in container["envFrom"]
    (secret,) = of_kind("Secret")
    section = load(FOLDER / "base/bough.toml", {**secret["stringData"], **given["data"]}).telegram
    assert section is not None and section.mode == "webhook" and section.webhook_url is not None
    listen, url = Listen.parse(section.listen), URL(section.webhook_url)
    assert (listen.host, listen.port) == ("0.0.0.0", ports["webhook"])
    (service,) = only(documents, "Service", "bough-webhook")["spec"]["ports"]
    assert service["targetPort"] == "webhook"
    spec = only(documents, "Ingress", "bough-webhook")["spec"]
    (rule,) = spec["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["path"], path["pathType"]) == (url.host, url.path, "Exact")
    assert [url.host] == [host for tls in spec["tls"] for host in tls["hosts"]]
    backend = {"name": "bough-webhook", "port": {"name": service["name"]}}
    assert path["backend"]["service"] == backend
    (let_in,) = only(documents, "NetworkPolicy", "bough-webhook")["spec"]["ingress"]
    assert [port["port"] for port in let_in["ports"]] == [ports["webhook"]]
