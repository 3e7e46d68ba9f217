"""Quotas of tokens: charged as they come, whatever the client asks for, and a tenant in debt is refused."""

import contextlib
import json
import time
import urllib.request

import openai
import pytest
from support.admission import metric
from support.openai_models import script, serve, write_scripted
from support.waiting import eventually

QUOTAS = ('plugin.quotas.use="admission/quotas"', 'plugin.openai.tenant_header="x-tenant"', 'plugin.http.tenant_header="x-tenant"',
          'plugin.quotas.tenants=["small:tokens=1/h,token_burst=20", "streams:tokens=1/h,token_burst=3", "slow:tokens=60/min,token_burst=14", "free:"]')
TOKENS = "atoll_admission_tokens_total"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    write_scripted(repository, "scripted")
    with serve(repository, *QUOTAS) as running:
        yield running


@contextlib.contextmanager
def client_of(server, tenant, retries=0):
    with openai.OpenAI(base_url=f"http://{server.http_address}/v1", api_key="none", max_retries=retries, timeout=60,
                       default_headers={"x-tenant": tenant}) as client:
        yield client


def used(server, tenant):
    return [metric(server, TOKENS, tenant=tenant, kind=kind) for kind in ("prompt", "generated")]


def ask(client, *pieces, **more):
    return client.completions.create(model="scripted", prompt=json.dumps({"pieces": pieces}), max_tokens=16, **more)


def test_a_tenant_in_debt_is_refused_and_told_when_to_come_again(server):
    with client_of(server, "small") as client:
        usage = ask(client, "a", "b").usage
        assert usage.prompt_tokens + usage.completion_tokens == 24, "the script's characters, and two"
        assert used(server, "small") == [22, 2]
        with pytest.raises(openai.RateLimitError) as refused:
            ask(client, "a")
        assert refused.value.response.status_code == 429
        # 4 tokens of debt at one an hour.
        assert 4 * 3600 - 60 < int(refused.value.response.headers["retry-after"]) <= 4 * 3600
        assert "tenant 'small' has used more than its 0.01" in refused.value.message
        assert " tokens a minute; try again in " in refused.value.message
    assert metric(server, "atoll_admission_refused_total", tenant="small", reason="tokens") == 1
    with client_of(server, "free") as client:
        ask(client, "a")
        assert used(server, "free") == [17, 1], "counted, though not limited"


def test_a_stream_is_charged_while_it_goes_on(server):
    with client_of(server, "streams") as client:
        with client.chat.completions.create(model="scripted", messages=script("a", "b", waits=True), stream=True) as stream:
            for chunk in stream:
                if chunk.choices[0].delta.content == "b":
                    break
            # It has not ended, and is paid for.
            assert used(server, "streams")[1] == 2
            with pytest.raises(openai.RateLimitError):
                ask(client, "a")
            assert metric(server, "atoll_admission_running", tenant="streams") == 1
        eventually(lambda: metric(server, "atoll_admission_running", tenant="streams") == 0, 60)


def test_the_client_of_openai_waits_until_the_debt_is_paid(server):
    begin = time.monotonic()
    with client_of(server, "slow", retries=10) as client:
        assert ask(client, "a").usage.total_tokens == 18
        assert ask(client, "a").usage.total_tokens == 18
    # Its debt of 4 tokens was made after the beginning, and a second pays for one.
    assert time.monotonic() - begin > 3.99


def test_the_v2_protocol_is_charged_by_what_it_asks_for(server):
    def generate(**inputs):
        body = {"text_input": json.dumps({"pieces": ["a"]}), **inputs}
        request = urllib.request.Request(f"http://{server.http_address}/v2/models/scripted/generate", json.dumps(body).encode(),
                                         {"Content-Type": "application/json", "x-tenant": "v2"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    before = used(server, "default")
    assert "num_output_tokens" in generate()
    assert used(server, "default") == [before[0] + 17, before[1] + 1]
