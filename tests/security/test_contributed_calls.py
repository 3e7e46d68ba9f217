"""Calls of the console and of the platforms' protocols, by who calls. Those of the console are read from its source, so that a new one
is tested before anybody thinks of it."""

import re

import pytest
from support.every_call import ask, check_callers, http_routes
from support.server import ROOT

CONSOLE = (ROOT / "plugins/frontends/console/console_routes.cc").read_text()
PAGE = "console.page"
PATHS = dict(re.findall(r'constexpr std::string_view (k\w+) = "(/v2/console/[\w/]+)";', CONSOLE))


def console_calls():
    """[(method, path, category)] of its two tables"""
    tables = [re.search(rf"kC?{name}\[\] = \{{(.*?)\}};", CONSOLE, re.S).group(1) for name in ("alls", "Acts")]
    found = [(method, PATHS[name], category) for table, method, category in zip(tables, ("GET", "POST"), ("console.read", "console.act"), strict=True)
             for name in re.findall(r"k\w+", table)]
    assert len(found) > 14 and {path for _, path, _ in found} == set(PATHS.values())
    return sorted(found)


SAGEMAKER = {"/ping": [("GET", "health")], "/invocations": [("POST", "inference")],
             "/models": [("GET", "model-repository"), ("POST", "model-repository")],
             "/models/*": [("GET", "model-repository"), ("DELETE", "model-repository")], "/models/*/invoke": [("POST", "inference")]}
CALLS = [*console_calls(), ("GET", "/console/", PAGE), ("POST", "/predict", "inference"),
         *((method, path.replace("*", "any"), category) for path, calls in SAGEMAKER.items() for method, category in calls if path != "/ping"),
         ("GET", "/files", "files.get"), ("GET", "/files/a", "files.get"), ("HEAD", "/files/a", "files.get"),
         ("GET", "/metrics", "metrics"), ("GET", "/metrics/summary", "metrics")]


def test_the_table_has_every_path_of_sagemaker():
    source = (ROOT / "plugins/frontends/sagemaker/plugin.cc").read_text()
    assert set(re.findall(r'constexpr std::string_view k\w+ = "(/[^"]*)";', source)) == SAGEMAKER.keys()


@pytest.fixture(scope="module")
def tokens(keys):
    names = {category for _, _, category in CALLS} | {"statistics", "metadata"}
    return {name: keys.add(f"only-{name.replace('.', '-')}", name) for name in names} | {"all": keys.add("everything", "*")}


@pytest.fixture(scope="module")
def server(serve, tokens, tmp_path_factory):
    files = tmp_path_factory.mktemp("files")
    (files / "a").write_text("a")
    with serve('plugin.console.use="frontends/console"', 'plugin.sagemaker.use="frontends/sagemaker"', 'plugin.metrics.inference_port=true',
               'plugin.files.use="frontends/static_files"', f'plugin.files.folders={{"/files/"="{files}"}}',
               'plugin.sagemaker.multi_model=true', 'plugin.vertex.use="frontends/vertex_ai"', 'plugin.vertex.default_model="any"') as running:
        running.wait_active().wait_logged("successfully loaded 'any'")
        yield running


@pytest.mark.parametrize("method, path, category", CALLS)
def test_call(server, tokens, method, path, category):
    check_callers((server.http_address, method, path), may_not=[tokens["statistics"]], may=[tokens[category], tokens["all"]])


def test_probe(server, tokens):
    check_callers((server.http_address, "GET", "/ping"), may_not=[tokens["statistics"]], may=[tokens["all"]], is_probe=True)


@pytest.mark.parametrize("path, category", sorted({(path, category) for _, path, category, is_probe in http_routes()
                                                   if path.startswith("/v2") and not is_probe}))
def test_a_redirect_of_vertex_ai_needs_the_permission_of_where_it_goes(server, tokens, path, category):
    status, _, text = ask(server.http_address, "POST", "/predict", tokens["inference"], headers={"x-vertex-ai-triton-redirect": path[1:]})
    if category == "inference":
        assert status not in (401, 403), (status, text)
    else:
        assert status in (403, 404, 405), (status, text)
