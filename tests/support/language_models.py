"""A small language model for the tests of backends/llamacpp, and llama.cpp itself as their oracle."""

import ctypes
import heapq
import os
import subprocess
import sys

from support.server import BUILD, ROOT

ENGINE = BUILD / "lib/atoll/engines/llamacpp"
# Beside build/models: that is the repository of the quickstart's server, which is not ready while it has a folder that is no model.
MODEL_FILE = ROOT / "build/smollm2/SmolLM2-135M-Instruct.Q4_0.gguf"
LEAST_MARGIN = 0.7  # of the logits; 0.03 were not enough where a prompt was computed once in one step and once in two
# One thread: llama.cpp's threads wait for each other all the time, so that one that does not run holds all of them up.
LLAMACPP = ('plugin.llamacpp.use="backends/llamacpp"', "plugin.llamacpp.threads=1")


def model_file():
    """The path of the model's file, which is made with the first call; some seconds."""
    subprocess.run([sys.executable, ROOT / "etc/models/fetch_smollm2.py", "--output", MODEL_FILE, "--build", BUILD], check=True,
                   stdout=subprocess.DEVNULL)
    return MODEL_FILE


def add_model(repository, name="smol", config=None, file_name="model.gguf", parameters=None):
    """A model of that file. A repository's files are its own, so it gets a further name of the file and no link to it."""
    version = repository / name / "1"
    version.mkdir(parents=True)
    link_or_copy(model_file(), version / file_name)
    text = config or ""
    for key, value in (parameters or {}).items():
        text += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
    if config is not None or parameters:
        (repository / name / "config.pbtxt").write_text('backend: "llamacpp"\n' + text)
    return version / file_name


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        target.write_bytes(source.read_bytes())


class Opaque(ctypes.Structure):
    """A struct that is passed by value, of which some fields are set by their places."""

    def put(self, offset, value, kind=ctypes.c_uint32):
        kind.from_address(ctypes.addressof(self) + offset).value = value


class ModelParams(Opaque):
    _fields_ = [("words", ctypes.c_uint64 * 10)]


class ContextParams(Opaque):
    _fields_ = [("words", ctypes.c_uint64 * 20)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), *((name, ctypes.c_void_p) for name in (
        "token", "embd", "pos", "n_seq_id", "seq_id", "logits"))]


class PlainLoop:
    """The most likely tokens, one after the other, with llama.cpp's own functions and nothing else. Offsets are those of llama.h of
    version 0.5.0."""

    def __init__(self, path, context=2048):
        self.lib = ctypes.CDLL(str(ENGINE / "libllama.so"))
        lib = self.lib
        ctypes.CDLL(str(ENGINE / "libggml.so")).ggml_backend_load_all_from_path(ctypes.c_char_p(str(ENGINE).encode()))
        for name, result, arguments in (
                ("llama_model_default_params", ModelParams, []),
                ("llama_context_default_params", ContextParams, []),
                ("llama_model_load_from_file", ctypes.c_void_p, [ctypes.c_char_p, ModelParams]),
                ("llama_init_from_model", ctypes.c_void_p, [ctypes.c_void_p, ContextParams]),
                ("llama_model_get_vocab", ctypes.c_void_p, [ctypes.c_void_p]),
                ("llama_vocab_n_tokens", ctypes.c_int32, [ctypes.c_void_p]),
                ("llama_vocab_is_eog", ctypes.c_bool, [ctypes.c_void_p, ctypes.c_int32]),
                ("llama_tokenize", ctypes.c_int32, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32,
                                                    ctypes.c_bool, ctypes.c_bool]),
                ("llama_token_to_piece", ctypes.c_int32, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32,
                                                          ctypes.c_int32, ctypes.c_bool]),
                ("llama_batch_get_one", Batch, [ctypes.c_void_p, ctypes.c_int32]),
                ("llama_decode", ctypes.c_int32, [ctypes.c_void_p, Batch]),
                ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p, ctypes.c_int32]),
                ("llama_free", None, [ctypes.c_void_p]), ("llama_model_free", None, [ctypes.c_void_p])):
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        self.model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
        assert self.model
        self.vocabulary = lib.llama_model_get_vocab(self.model)
        self.context_tokens = context

    def tokenize(self, text):
        text = text.encode()
        tokens = (ctypes.c_int32 * (len(text) + 16))()
        count = self.lib.llama_tokenize(self.vocabulary, text, len(text), tokens, len(tokens), True, True)
        return list(tokens[:count])

    def piece(self, token):
        text = ctypes.create_string_buffer(256)
        size = self.lib.llama_token_to_piece(self.vocabulary, token, text, len(text), 0, False)
        return text.raw[:size]

    def most_likely(self, prompt, count):
        """The text of up to `count` tokens, of which each is the most likely one by a margin that no rounding closes: an engine that
        computes the same prompt in other steps (a part of it was in the cache, or others were computed beside it) rounds otherwise."""
        params = self.lib.llama_context_default_params()
        params.put(0, self.context_tokens)  # n_ctx
        params.put(28, 1)  # n_threads
        params.put(32, 1)  # n_threads_batch
        context = self.lib.llama_init_from_model(self.model, params)
        assert context
        size = self.lib.llama_vocab_n_tokens(self.vocabulary)
        new, text = self.tokenize(prompt), b""
        for _ in range(count):
            tokens = (ctypes.c_int32 * len(new))(*new)
            assert self.lib.llama_decode(context, self.lib.llama_batch_get_one(tokens, len(new))) == 0
            logits = self.lib.llama_get_logits_ith(context, -1)[:size]
            second, best = heapq.nlargest(2, range(size), key=logits.__getitem__)[::-1]
            assert logits[best] - logits[second] > LEAST_MARGIN, f"after {text!r}: this prompt's answer depends on how the engine rounds"
            if self.lib.llama_vocab_is_eog(self.vocabulary, best):
                break
            text += self.piece(best)
            new = [best]
        self.lib.llama_free(context)
        return text.decode(errors="replace")
