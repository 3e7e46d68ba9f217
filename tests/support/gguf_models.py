"""Language models, adapters and rerankers that are small enough to be written by a test, and what they compute, in NumPy."""

import sys

import numpy as np

from support.server import ROOT

sys.path.insert(0, str(ROOT / "etc" / "models"))
from bert_gguf import write_bert  # noqa: E402
from gguf_writer import BYTE, CONTROL, UNKNOWN, write_gguf  # noqa: E402

WIDTH, WIDE, HEADS, LAYERS, RANK, ALPHA = 64, 128, 4, 2, 4, 8.0
# What an adapter changes: name: (elements that come in, elements that go out).
CHANGED = {f"blk.{layer}.{name}.weight": shape for layer in range(LAYERS) for name, shape in (
    ("attn_q", (WIDTH, WIDTH)), ("attn_v", (WIDTH, WIDTH)), ("ffn_down", (WIDE, WIDTH)))}


def generator_weights(seed=1):
    """Of a decoder whose tokens are bytes."""
    random = np.random.default_rng(seed)

    def drawn(*shape, scale=0.3):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    tensors = {"token_embd.weight": drawn(259, WIDTH, scale=1), "output_norm.weight": 1 + drawn(WIDTH, scale=0.1),
               "output.weight": drawn(259, WIDTH, scale=1)}
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = 1 + drawn(WIDTH, scale=0.1)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors[f"blk.{layer}.{name}.weight"] = drawn(WIDTH, WIDTH)
        tensors[f"blk.{layer}.ffn_gate.weight"] = drawn(WIDE, WIDTH)
        tensors[f"blk.{layer}.ffn_up.weight"] = drawn(WIDE, WIDTH)
        tensors[f"blk.{layer}.ffn_down.weight"] = drawn(WIDTH, WIDE)
    return tensors


def write_generator(path, tensors):
    keys = {"general.architecture": "llama", "general.name": "tiny", "llama.context_length": 256, "llama.embedding_length": WIDTH,
            "llama.block_count": LAYERS, "llama.feed_forward_length": WIDE, "llama.attention.head_count": HEADS,
            "llama.attention.head_count_kv": HEADS, "llama.rope.dimension_count": WIDTH // HEADS,
            "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
            "tokenizer.ggml.scores": np.zeros(259, np.float32),
            "tokenizer.ggml.token_type": np.array([UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256], np.int32),
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_gguf(path, keys, tensors)


def adapter_matrices(seed=2):
    """name: (A, B); the adapter adds ALPHA / RANK * B A to the weights."""
    random = np.random.default_rng(seed)
    return {name: (random.standard_normal((RANK, inputs)).astype(np.float32) * 0.3,
                   random.standard_normal((outputs, RANK)).astype(np.float32) * 0.3) for name, (inputs, outputs) in CHANGED.items()}


def write_adapter(path, matrices, architecture="llama"):
    tensors = {}
    for name, (a, b) in matrices.items():
        tensors[f"{name}.lora_a"], tensors[f"{name}.lora_b"] = a, b
    path.parent.mkdir(parents=True, exist_ok=True)
    write_gguf(path, {"general.type": "adapter", "general.architecture": architecture, "adapter.type": "lora",
                      "adapter.lora.alpha": ALPHA}, tensors)


def merged(tensors, matrices):
    """The weights with the adapter in them."""
    return {name: array + np.float32(ALPHA / RANK) * (matrices[name][1] @ matrices[name][0]) if name in matrices else array
            for name, array in tensors.items()}


WORDS = ["red", "green", "blue", "bird", "fish", "tree", "river", "sings", "swims", "grows", "the", "a"]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


def reranker_weights(seed=3, width=32, wide=64, layers=2, positions=64):
    """Of a BERT that says how well two texts fit each other."""
    random = np.random.default_rng(seed)
    weights = {}

    def add(name, outputs, inputs, scale=0.25):
        weights[f"{name}.weight"] = (random.standard_normal((outputs, inputs)) * scale).astype(np.float32)
        weights[f"{name}.bias"] = (random.standard_normal(outputs) * 0.1).astype(np.float32)

    def add_norm(name):
        weights[f"{name}.weight"] = (1 + random.standard_normal(width) * 0.1).astype(np.float32)
        weights[f"{name}.bias"] = (random.standard_normal(width) * 0.1).astype(np.float32)

    for name, rows in (("word", len(TOKENS)), ("position", positions), ("token_type", 2)):
        weights[f"embeddings.{name}_embeddings.weight"] = random.standard_normal((rows, width)).astype(np.float32)
    add_norm("embeddings.LayerNorm")
    for layer in range(layers):
        source = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            add(f"{source}.attention.self.{name}", width, width)
        add(f"{source}.attention.output.dense", width, width)
        add_norm(f"{source}.attention.output.LayerNorm")
        add(f"{source}.intermediate.dense", wide, width)
        add(f"{source}.output.dense", width, wide)
        add_norm(f"{source}.output.LayerNorm")
    add("classifier.dense", width, width)
    add("classifier.out_proj", 1, width)
    return weights


def write_reranker(path, weights, heads=4):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bert(path, weights, TOKENS, heads, "rank", "tiny reranker")


def rerank_score(weights, query, document, heads=4):
    """Of texts whose words are WORDS."""
    names = ["[CLS]", *query.split(), "[SEP]", *document.split(), "[SEP]"]
    ids = [TOKENS.index(name) for name in names]

    def dense(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def split(x):
        return x.reshape(len(ids), heads, -1).transpose(1, 0, 2)

    hidden = norm("embeddings.LayerNorm", weights["embeddings.word_embeddings.weight"][ids] +
                  weights["embeddings.position_embeddings.weight"][:len(ids)] + weights["embeddings.token_type_embeddings.weight"][0])
    for layer in range(1 + max(int(key.split(".")[2]) for key in weights if key.startswith("encoder"))):
        source = f"encoder.layer.{layer}"
        query_heads, key_heads, value_heads = (split(dense(f"{source}.attention.self.{part}", hidden)) for part in ("query", "key", "value"))
        scores = query_heads @ key_heads.transpose(0, 2, 1) / np.sqrt(query_heads.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value_heads
        joined = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
        hidden = norm(f"{source}.attention.output.LayerNorm", dense(f"{source}.attention.output.dense", joined) + hidden)
        wide = dense(f"{source}.intermediate.dense", hidden)
        gelu = 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide ** 3)))
        hidden = norm(f"{source}.output.LayerNorm", dense(f"{source}.output.dense", gelu) + hidden)
    return dense("classifier.out_proj", np.tanh(dense("classifier.dense", hidden[0]))).item()
