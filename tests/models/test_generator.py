"""The graph of etc/models/train_generator.py with random weights, in the reference of the loop that a server runs."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
from support.server import BUILD, ROOT

sys.path.append(str(ROOT / "etc" / "models"))
import generator_graph  # noqa: E402
import generator_static_graph  # noqa: E402
import step_loop  # noqa: E402
from step_loop import Request  # noqa: E402

HIDDEN, EMBEDDING = 64, 16


def random_weights():
    """Large enough for tokens to depend on everything that came before."""
    random = np.random.default_rng(11)
    symbols = len(generator_graph.SYMBOLS)
    sizes = {"embedding": (symbols, EMBEDDING), "input": (3 * HIDDEN, EMBEDDING), "recurrent": (3 * HIDDEN, HIDDEN),
             "biases": (6 * HIDDEN,), "output": (HIDDEN, symbols), "output_bias": (symbols,)}
    scales = {"input": 0.4, "recurrent": 0.2, "biases": 0.2}
    return {name: (scales.get(name, 1) * random.normal(size=size)).astype(np.float32) for name, size in sizes.items()}


@pytest.fixture(scope="module")
def weights():
    return random_weights()


@pytest.fixture(scope="module")
def loop(weights):
    return step_loop.StepLoop(generator_graph.build(weights).SerializeToString())


@pytest.fixture(scope="module")
def static(weights):
    return step_loop.Session(generator_static_graph.build(weights).SerializeToString())


def various_requests(count):
    random = np.random.default_rng(5)
    return [Request("".join(random.choice(list(generator_graph.SYMBOLS), random.integers(1, 65))),
                    max_tokens=int(random.integers(1, 80)), temperature=float(random.choice([0, 0.7, 1.3])),
                    seed=int(random.integers(-2**63, 2**63))) for _ in range(count)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def greedy(weights, prompt, count):
    """The same network in numpy, a character at a time."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    hidden = np.zeros(HIDDEN)
    for symbol in generator_graph.symbols_of(prompt)[:-1]:
        hidden = next_hidden(w, hidden, symbol)
    symbol, text = generator_graph.symbols_of(prompt)[-1], ""
    for _ in range(count):
        hidden = next_hidden(w, hidden, symbol)
        symbol = np.argmax(hidden @ w["output"] + w["output_bias"])
        text += generator_graph.SYMBOLS[symbol]
    return text


def next_hidden(w, hidden, symbol):
    given = w["input"] @ w["embedding"][symbol] + w["biases"][:3 * HIDDEN]
    own = w["recurrent"] @ hidden + w["biases"][3 * HIDDEN:]
    update, reset = sigmoid((given + own)[:2 * HIDDEN]).reshape(2, HIDDEN)
    new = np.tanh(given[2 * HIDDEN:] + reset * own[2 * HIDDEN:])
    return (1 - update) * new + update * hidden


def test_what_else_is_in_the_batch_changes_nothing(loop):
    alone = loop.run(various_requests(60), batch_size=1)
    assert len({request.text for request in alone}) > 55
    for batch_size in (2, 3, 7, 32):
        together = loop.run(various_requests(60), batch_size=batch_size)
        assert [request.tokens for request in together] == [request.tokens for request in alone]
        for found, expected in zip(together, alone):
            assert found.state["HIDDEN_IN"].tobytes() == expected.state["HIDDEN_IN"].tobytes()


def test_the_graph_is_the_network(loop, weights):
    prompts = ["a", "\n", "x = 1", "The rest of the line is not like this.\n" * 2]
    requests = loop.run([Request(prompt, max_tokens=40) for prompt in prompts])
    for request in requests:
        assert request.text == greedy(weights, request.prompt[:generator_graph.PROMPT_SIZE], 40)


def test_as_many_tokens_as_asked_for(loop):
    for request in loop.run(various_requests(20)):
        assert len(request.tokens) == len(request.text) == request.max_tokens
        assert [chr(token) for token in request.tokens] == list(request.text)


def test_the_seed_decides_where_tokens_are_drawn(loop):
    def texts(temperature):
        return [request.text for request in
                loop.run([Request("a", max_tokens=30, temperature=temperature, seed=seed) for seed in (0, 1, 2, 0)])]

    assert len(set(texts(0.0))) == 1
    drawn = texts(1.0)
    assert len(set(drawn)) == 3 and drawn[0] == drawn[3]


@pytest.mark.parametrize("wrong, like", [
    ({"prompt_length": 0}, {"prompt_length": 1}), ({"prompt_length": -2**31}, {"prompt_length": 1}),
    ({"prompt_length": 65}, {"prompt_length": 64}), ({"prompt_length": 2**31 - 1}, {"prompt_length": 64}),
    ({"max_tokens": 0}, {"max_tokens": 1}), ({"max_tokens": -2**31}, {"max_tokens": 1}),
    ({"temperature": -1.0}, {}), ({"temperature": math.nan}, {}), ({"temperature": -math.inf}, {}),
    ({"temperature": 1e-30}, {}), ({"prompt": ""}, {"prompt": "\n"}), ({"prompt": "\x01\x7f\xff"}, {"prompt": "???"})])
def test_wrong_values_are_clamped(loop, wrong, like):
    found, expected = loop.run([Request(**{"prompt": "ab", **values}) for values in (wrong, like)])
    assert found.tokens == expected.tokens


def test_codes_that_are_no_bytes_are_clamped(loop):
    request = Request("ab", max_tokens=3, temperature=math.inf)
    request.inputs = lambda: {**Request.inputs(request), "PROMPT": np.array([-2**31, 2**31 - 1] * 32)}
    loop.run([request])
    assert len(request.tokens) == 3


def test_tokens_of_a_request_are_limited(loop):
    request, = loop.run([Request("a", max_tokens=2**31 - 1)])
    assert len(request.tokens) == generator_graph.MOST_TOKENS


@pytest.mark.parametrize("batch_size", [1, 2, 7, 32])
def test_a_whole_generation_has_the_tokens_of_the_steps(loop, static, batch_size):
    requests = loop.run(various_requests(64))
    for begin in range(0, len(requests), batch_size):
        batch = requests[begin:begin + batch_size]
        longest = max(request.max_tokens for request in batch)
        found = step_loop.generate_static(static, [dataclasses.replace(request, state={}) for request in batch])
        assert found == [request.tokens + [0] * (longest - request.max_tokens) for request in batch]


@pytest.mark.parametrize("batch_size", [1, 2, 7])
def test_all_tokens_at_once_are_those_of_the_steps(loop, weights, batch_size):
    at_once = step_loop.StepLoop(generator_graph.build(weights, at_once=True).SerializeToString())
    limit = generator_graph.AT_ONCE_TOKENS

    def requests():
        return [*various_requests(20), Request("a", 0), Request("b", limit + 1)]

    for found, expected in zip(at_once.run(requests(), batch_size), loop.run(requests()), strict=True):
        tokens = expected.tokens[:limit]
        assert found.tokens == tokens + [0] * (limit - len(tokens))


def test_a_whole_generation_clamps_what_the_steps_clamp(loop, static):
    values = [{"max_tokens": 0}, {"max_tokens": -2**31}, {"max_tokens": 2**31 - 1}, {"prompt_length": 0, "max_tokens": 2},
              {"prompt_length": 2**31 - 1, "max_tokens": 2}, {"temperature": math.nan, "max_tokens": 2}]
    requests = [Request(**{"prompt": "ab", **value}) for value in values]
    found = step_loop.generate_static(static, requests)
    assert {len(row) for row in found} == {generator_graph.MOST_TOKENS}
    for row, request in zip(found, loop.run(requests)):
        assert row[:len(request.tokens)] == request.tokens
        assert not any(row[len(request.tokens):])


@pytest.mark.parametrize("seeds, steps", [(range(2000), 5), ([0], 4000), (range(2**62, 2**62 + 2000), 5)])
def test_draws_are_even_and_independent(weights, seeds, steps):
    """Every symbol is as probable as the others, and the one before says nothing about it."""
    even = {**weights, "output": 0 * weights["output"], "output_bias": 0 * weights["output_bias"]}
    loop = step_loop.StepLoop(generator_graph.build(even).SerializeToString())
    requests = loop.run([Request("a", steps, 1.0, seed) for seed in seeds], 2000)
    drawn = np.array([generator_graph.symbols_of(request.text) for request in requests])
    expected = drawn.size / len(generator_graph.SYMBOLS)
    counts = np.bincount(drawn.ravel(), minlength=len(generator_graph.SYMBOLS))
    # Of chi-squared with 95 degrees of freedom one in a million is above 175.
    assert np.sum((counts - expected)**2 / expected) < 175
    for axis in range(2):
        if drawn.shape[axis] > 1:
            before, after = np.delete(drawn, -1, axis).ravel(), np.delete(drawn, 0, axis).ravel()
            assert abs(np.corrcoef(before, after)[0, 1]) < 5 / math.sqrt(len(before))


def test_the_configurations_are_valid(weights, tmp_path):
    generator_graph.write(generator_graph.build(weights), tmp_path / generator_graph.MODEL)
    generator_graph.write(generator_graph.build(weights, at_once=True), tmp_path / generator_graph.AT_ONCE_MODEL)
    generator_static_graph.write(generator_static_graph.build(weights), tmp_path / generator_static_graph.MODEL)
    run = subprocess.run([BUILD / "bin" / "atoll-config", "check", tmp_path], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
