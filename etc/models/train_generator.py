#!/usr/bin/env python3
"""Trains a small generator of English text and exports it for serving.

The text is the reference manual that comes with Python for help(), so nothing is
downloaded. Its last tenth is held out. The model is a recurrent network (a gated
recurrent unit) that reads and makes single characters. What is exported is one
step with its state, see generator_graph.py: the server repeats it until a request
has as many tokens as it wants, and other requests may join at any step. Beside it
are one that answers with all tokens at once, and the whole generation as one
execution, see generator_static_graph.py.

It takes one to three minutes on two CPUs:

    $(etc/dev/python-env etc/models/generator-requirements.txt) etc/models/train_generator.py --output build/models
"""

import argparse
import functools
import pathlib
import pydoc_data.topics
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers

import generator_graph
import generator_static_graph
import step_loop

EMBEDDING_SIZE = 32
ROWS = 32  # parts of the text that are read side by side
WINDOW = 64  # characters of a row in one update
RATE, WARM_UP, LAST_RATE_SHARE = 5e-3, 50, 0.02
GRADIENT_NORM = 1.0
HELD_OUT = 0.1
WORST_SHARE = 0.5  # of the perplexity of symbols that are guessed by their frequencies
SAMPLE = step_loop.Request(prompt="The statement ", max_tokens=200, temperature=0.5, seed=1)


def read_text():
    topics = pydoc_data.topics.topics
    symbols = generator_graph.symbols_of("\n".join(topics[name] for name in sorted(topics)))
    return np.split(symbols, [int(len(symbols) * (1 - HELD_OUT))])


def begin(key, hidden_size):
    keys = jax.random.split(key, 4)
    symbols = len(generator_graph.SYMBOLS)

    def uniform(key, columns):
        bound = 1 / np.sqrt(columns)
        return jax.random.uniform(key, (3 * hidden_size, columns), minval=-bound, maxval=bound)

    return {"embedding": 0.1 * jax.random.normal(keys[0], (symbols, EMBEDDING_SIZE)),
            "input": uniform(keys[1], EMBEDDING_SIZE), "recurrent": uniform(keys[2], hidden_size),
            "biases": jnp.zeros(6 * hidden_size),
            "output": 0.05 * jax.random.normal(keys[3], (hidden_size, symbols)), "output_bias": jnp.zeros(symbols)}


def loss(weights, hidden, window):
    """Mean of -log of what was predicted for the symbols, and the hidden state behind them.

    window: (rows, time + 1)
    """
    input_bias, recurrent_bias = jnp.split(weights["biases"], 2)

    def step(hidden, given):
        """As the GRU operator of ONNX with linear_before_reset."""
        for_update, for_reset, for_new = jnp.split(given, 3, axis=1)
        own_update, own_reset, own_new = jnp.split(hidden @ weights["recurrent"].T + recurrent_bias, 3, axis=1)
        update = jax.nn.sigmoid(for_update + own_update)
        new = jnp.tanh(for_new + jax.nn.sigmoid(for_reset + own_reset) * own_new)
        hidden = (1 - update) * new + update * hidden
        return hidden, hidden

    given = weights["embedding"][window[:, :-1].T] @ weights["input"].T + input_bias
    hidden, all_hidden = jax.lax.scan(step, hidden, given)
    predicted = jax.nn.log_softmax(all_hidden @ weights["output"] + weights["output_bias"])
    return -jnp.take_along_axis(predicted, window[:, 1:].T[..., None], axis=-1).mean(), hidden


def rows_of(symbols, count):
    length = len(symbols) // count
    return symbols[:count * length].reshape(count, length)


def train(symbols, hidden_size, updates, seed):
    def rate(update):
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * update / updates))
        return RATE * jnp.minimum(1, (update + 1) / WARM_UP) * (LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * cosine)

    make, change, weights_of = optimizers.adam(rate)

    @functools.partial(jax.jit, donate_argnums=(1,))
    def update(number, optimizer, hidden, window):
        (value, hidden), gradients = jax.value_and_grad(loss, has_aux=True)(weights_of(optimizer), hidden, window)
        return change(number, optimizers.clip_grads(gradients, GRADIENT_NORM), optimizer), hidden, value

    rows = rows_of(symbols, ROWS)
    windows = (rows.shape[1] - 1) // WINDOW
    optimizer = make(begin(jax.random.PRNGKey(seed), hidden_size))
    for number in range(updates):
        place = number % windows * WINDOW
        if place == 0:
            hidden = jnp.zeros((ROWS, hidden_size))
        optimizer, hidden, value = update(number, optimizer, hidden, rows[:, place:place + WINDOW + 1])
        if (number + 1) % 100 == 0:
            print(f"update {number + 1} of {updates}: perplexity {np.exp(value):.2f}", flush=True)
    return {name: np.asarray(array) for name, array in weights_of(optimizer).items()}


def perplexity_of(weights, symbols):
    hidden = jnp.zeros((ROWS, weights["recurrent"].shape[1]))
    return float(np.exp(jax.jit(loss)(weights, hidden, rows_of(symbols, ROWS))[0]))


def perplexity_of_frequencies(train_symbols, symbols):
    counts = np.bincount(train_symbols, minlength=len(generator_graph.SYMBOLS)) + 1
    return float(np.exp(-np.log(counts / counts.sum())[symbols].mean()))


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def main():
    parser = argparse.ArgumentParser(description="Train a text generator and write it into a model repository.")
    parser.add_argument("--output", metavar="DIR", type=pathlib.Path, required=True,
                        help="model repository to write the model into")
    parser.add_argument("--hidden", metavar="N", type=positive, default=192,
                        help="size of the hidden state (default: %(default)s)")
    parser.add_argument("--updates", metavar="N", type=positive, default=1400,
                        help="how long to train (default: %(default)s)")
    parser.add_argument("--seed", metavar="N", type=int, default=7)
    arguments = parser.parse_args()

    train_symbols, heldout = read_text()
    print(f"text: {len(train_symbols)} characters to learn from, {len(heldout)} held out")
    weights = train(train_symbols, arguments.hidden, arguments.updates, arguments.seed)
    perplexity = perplexity_of(weights, heldout)
    plain = perplexity_of_frequencies(train_symbols, heldout)
    print(f"held-out perplexity: {perplexity:.2f} a character ({plain:.2f} by frequencies alone)")
    # Not the other way round: a perplexity that is not a number is none.
    if not perplexity <= WORST_SHARE * plain:
        sys.exit(f"error: found perplexity {perplexity:.2f}, expected at most {WORST_SHARE * plain:.2f}; "
                 "nothing written")

    model = generator_graph.build(weights)
    step_loop.StepLoop(model.SerializeToString()).run([SAMPLE])
    print(f"a sample: {SAMPLE.prompt + SAMPLE.text!r}")
    folder = arguments.output.resolve()
    generator_graph.write(model, folder / generator_graph.MODEL)
    generator_graph.write(generator_graph.build(weights, at_once=True), folder / generator_graph.AT_ONCE_MODEL)
    generator_static_graph.write(generator_static_graph.build(weights), folder / generator_static_graph.MODEL)
    print(f"models: {folder / generator_graph.MODEL}, with {generator_graph.AT_ONCE_MODEL} and "
          f"{generator_static_graph.MODEL} beside it")


if __name__ == "__main__":
    main()
