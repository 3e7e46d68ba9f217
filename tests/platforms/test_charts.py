"""What is written for Kubernetes fits our image and our server: a chart of Triton's with our image's name in it, and the examples for
KServe. Each command, flag, port, probe, path and user that they name is looked for, and the server is started as they say."""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

import pytest
import yaml
from support import models
from support.addresses import free_addresses
from support.http_call import call
from support.launched import Launched
from support.server import BUILD, ROOT
from support.waiting import eventually

CHART = pathlib.Path(__file__).parent / "triton_chart"
KSERVE = ROOT / "etc/examples/kserve"
OURS = "atoll:0.1.0"


def image_configuration():
    """As etc/dev/package image writes it."""
    folder = ROOT / "etc/packages/image"
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    try:
        loader = importlib.machinery.SourceFileLoader("image_build", str(folder / "build"))
        build = importlib.util.module_from_spec(importlib.util.spec_from_loader("image_build", loader))
        loader.exec_module(build)
        return build.configuration("0.1.0", "0" * 40, 0)["config"]
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = before


def value_at(path, values):
    for name in path.removeprefix(".").split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def rendered(template, context):
    """The few words of Helm's templates that the chart uses; blocks about what its values do not have are left out."""
    lines, skipping, each = [], 0, None
    for line in template.splitlines():
        word = re.search(r"\{\{-? *(with|range|end)\b *(\S*)", line)
        if word and word[1] == "end":
            if skipping:
                skipping -= 1
            elif each is not None:
                lines += [each[1].replace("{{ . }}", str(item)) for item in each[0]]
                each = None
        elif skipping:
            skipping += bool(word)
        elif word:
            values = value_at(word[2], context)
            if not values:
                skipping = 1
            elif word[1] == "range":
                each = [values, ""]
            else:
                raise AssertionError(f"nothing renders: {line}")
        elif each is not None:
            each[1] = line
        else:
            line = re.sub(r'\{\{ template "[^"]*" \. \}\}', "name", line)
            lines.append(re.sub(r"\{\{ (\.[\w.]+) \}\}", lambda name: str(value_at(name[1], context)), line))
    return "\n".join(lines)


def of_chart():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    values["image"]["imageName"] = OURS
    context = {"Values": values, "Chart": {"Name": "triton"}, "Release": {"Name": "r", "Namespace": "n", "Service": "Helm"}}
    pod = yaml.safe_load(rendered((CHART / "templates/deployment.yaml").read_text(), context))["spec"]["template"]["spec"]
    (container, ) = pod["containers"]
    return container, pod["securityContext"]["runAsUser"]


def of_kserve():
    runtime = yaml.safe_load((KSERVE / "serving_runtime.yaml").read_text())
    (container, ) = runtime["spec"]["containers"]
    return container, container["securityContext"]["runAsUser"]


def ports_of(container):
    return {port["name"]: port["containerPort"] for port in container["ports"]}


@pytest.fixture
def repository(tmp_path):
    models.write_model(tmp_path / "models", "echo", models.identity_config("echo"))
    return tmp_path / "models"


@pytest.mark.parametrize("description", [of_chart, of_kserve])
def test_it_fits_the_image(description):
    container, user = description()
    image = image_configuration()
    assert container["image"] == OURS and "command" not in container and "Entrypoint" not in image
    program = container["args"][0]
    assert "/opt/tritonserver/bin" in image["Env"][0].removeprefix("PATH=").split(":") and (BUILD / "bin" / program).is_file()
    assert image["User"].split(":")[0] == str(user)
    assert any(variable == "ATOLL_LISTEN_ADDRESS=0.0.0.0" for variable in image["Env"]), "other pods have to reach it"


def test_the_chart_names_the_images_ports_and_volume():
    container, _ = of_chart()
    image = image_configuration()
    assert {f"{port}/tcp" for port in ports_of(container).values()} == set(image["ExposedPorts"])
    (argument, ) = container["args"][1:]
    assert argument.removeprefix("--model-repository=") in image["Volumes"]


@pytest.mark.parametrize("description, at", [(of_chart, {"http": "http", "grpc": "grpc", "metrics": "metrics"}),
                                             (of_kserve, {"http": "http1", "grpc": "h2c", "metrics": "metrics"})])
def test_the_server_starts_as_it_says(description, at, repository):
    container, _ = description()
    ports = ports_of(container)
    text = " ".join(container["args"][1:])
    for endpoint, default in (("http", 8000), ("grpc", 8001), ("metrics", 8002)):
        told = re.search(rf"--{endpoint}-port=(\d+)", text)
        assert (int(told[1]) if told else default) == ports[at[endpoint]]
    # The test's own folder and ports: the flags that say them come last and win.
    flags = [flag for flag in container["args"][1:] if not flag.startswith(("--model-repository=", "--model-store="))]
    assert len(flags) == len(container["args"]) - 2, "one repository"
    with free_addresses(3) as addresses:
        own = [f"--{name}-port={address.rsplit(':', 1)[1]}" for name, address in zip(("http", "grpc", "metrics"), addresses)]
        with Launched(repository, *flags, *own) as server:
            assert server.address == addresses[1] and server.http_address == addresses[0]
            probes = [container[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
            for probe in probes:
                assert probe["port"] in (at["http"], ports[at["http"]])
                eventually(lambda path=probe["path"]: call("GET", f"http://{addresses[0]}{path}").status == 200)
            assert "nv_inference_queue_duration_us" in call("GET", f"http://{addresses[2]}/metrics").text, "by which the chart scales"


def test_the_service_of_kserve_finds_its_runtime():
    runtime = yaml.safe_load((KSERVE / "serving_runtime.yaml").read_text())
    service = yaml.safe_load((KSERVE / "inference_service.yaml").read_text())
    model = service["spec"]["predictor"]["model"]
    container, _ = of_kserve()
    assert model["runtime"] == runtime["metadata"]["name"] and model["protocolVersion"] in runtime["spec"]["protocolVersions"]
    assert model["modelFormat"]["name"] in {one["name"] for one in runtime["spec"]["supportedModelFormats"]}
    assert container["name"] == "kserve-container", "by which KServe finds it"
    assert "--model-store=/mnt/models" in container["args"], "where KServe puts the models"
    assert runtime["spec"]["annotations"]["prometheus.kserve.io/port"] == str(ports_of(container)["metrics"])
    named = [port["name"] for port in container["ports"] if port["containerPort"] == 9000]
    assert named == ["h2c"], "by which a mesh knows that it is gRPC"
