#!/usr/bin/env python3
"""A chat in the terminal with a language model of an Atoll server, by OpenAI's API.

    etc/examples/chat/chat.py [--url http://127.0.0.1:8000] [--model NAME] [--temperature 0.3] [--max-tokens 500] [TEXT]

With a TEXT it prints one answer and ends. Needs no packages. Ctrl-C stops an answer; Ctrl-D ends the chat.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request


def call(url, body=None):
    """The open answer. Ends the program with the server's words if the server refuses, or is not there."""
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        return urllib.request.urlopen(request, timeout=600)
    except urllib.error.HTTPError as error:
        text = error.read().decode("utf-8", "replace")
        try:
            text = json.loads(text)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            pass
        sys.exit(f"chat.py: {error.code}: {text}")
    except OSError as error:
        sys.exit(f"chat.py: {url}: {getattr(error, 'reason', error)}")


def pick_model(url):
    models = [model["id"] for model in json.load(call(f"{url}/v1/models"))["data"]]
    if not models:
        sys.exit(f"chat.py: {url} has no language model")
    return models[0]


def answer(url, asked, messages):
    """Prints the answer as it comes. \\returns all of it, or what there was when Ctrl-C stopped it."""
    text = ""
    try:
        with call(f"{url}/v1/chat/completions", {**asked, "messages": messages, "stream": True}) as response:
            for line in response:
                if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                    continue
                event = json.loads(line[6:])
                if "error" in event:
                    sys.exit(f"\nchat.py: {event['error']['message']}")
                piece = event["choices"][0]["delta"].get("content") or "" if event["choices"] else ""
                text += piece
                print(piece, end="", flush=True)
    except KeyboardInterrupt:
        print(" ...", end="")
    print()
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--model", help="default: the server's first one")
    # Small models lose the thread at OpenAI's default of 1, and then do not find an end.
    parser.add_argument("--temperature", type=float, default=0.3, help="0: always the most likely word; default: %(default)s")
    parser.add_argument("--max-tokens", type=int, default=500, help="of one answer; default: %(default)s")
    parser.add_argument("text", nargs="?", help="one message, instead of a chat")
    arguments = parser.parse_args()
    url = arguments.url.rstrip("/")
    if "://" not in url:
        url = f"http://{url}"
    model = arguments.model or pick_model(url)
    asked = {"model": model, "temperature": arguments.temperature, "max_tokens": arguments.max_tokens}
    messages = []
    if arguments.text is not None:
        answer(url, asked, [{"role": "user", "content": arguments.text}])
        return
    print(f"{model} at {url}; Ctrl-C stops an answer, Ctrl-D ends the chat")
    while True:
        try:
            text = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if text:
            messages.append({"role": "user", "content": text})
            messages.append({"role": "assistant", "content": answer(url, asked, messages)})


if __name__ == "__main__":
    main()
