"""frontends/openai: what clients of a stream see when the server ends before the stream does."""

import anthropic
import openai
import pytest
from support.openai_models import client_of, script, serve, write_scripted

REASON = "The server ends"


def test_a_stream_says_why_it_ends(tmp_path):
    write_scripted(tmp_path, "scripted")
    with serve(tmp_path, 'atoll.drain_timeout="12s"') as server, client_of(server) as client, \
            anthropic.Anthropic(base_url=f"http://{server.http_address}", api_key="none", max_retries=0, timeout=60) as claude:
        messages = script("one", waits=True)
        chat = client.chat.completions.create(model="scripted", messages=messages, stream=True)
        message = claude.messages.create(model="scripted", max_tokens=9, messages=messages, stream=True)
        response = client.responses.create(model="scripted", input=messages[0]["content"], stream=True)
        for stream in (chat, message, response):
            next(iter(stream))
        server.process.terminate()
        with pytest.raises(openai.APIError) as told:
            list(chat)
        assert REASON in str(told.value)
        with pytest.raises(anthropic.APIError) as told:
            list(message)
        assert REASON in str(told.value)
        last = list(response)[-1]
        assert last.type == "response.failed" and REASON in last.response.error.message
        assert server.process.wait(60) == 0, "nothing is left to drain"
