"""BERT models as GGUF files, of weights with the names that PyTorch's models have."""

import numpy as np
from gguf_writer import CONTROL, NORMAL, write_gguf

SPECIAL = {"[PAD]": "padding", "[UNK]": "unknown", "[CLS]": "bos", "[SEP]": "eos", "[MASK]": "mask"}
POOLINGS = {"mean": 1, "cls": 2, "rank": 4}
EMBEDDINGS = {"embeddings.word_embeddings.weight": "token_embd.weight",
              "embeddings.position_embeddings.weight": "position_embd.weight",
              "embeddings.token_type_embeddings.weight": "token_types.weight"}
LAYER = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
         "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}
HEAD = {"classifier.dense": "cls", "classifier.out_proj": "cls.output"}


def piece_of(token):
    """WordPiece marks the pieces that go on with a word, llama.cpp those that begin one."""
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "\u2581" + token


def vocabulary_keys(tokens):
    ids = {token: number for number, token in enumerate(tokens)}
    kinds = [CONTROL if token in SPECIAL else NORMAL for token in tokens]
    keys = {"tokenizer.ggml.model": "bert", "tokenizer.ggml.token_type_count": 2,
            "tokenizer.ggml.tokens": [piece_of(token) for token in tokens],
            "tokenizer.ggml.scores": np.zeros(len(tokens), np.float32),
            "tokenizer.ggml.token_type": np.array(kinds, np.int32)}
    keys.update({f"tokenizer.ggml.{name}_token_id": ids[token] for token, name in SPECIAL.items()})
    # The format spells it so.
    return {**keys, "tokenizer.ggml.seperator_token_id": ids["[SEP]"], "tokenizer.ggml.cls_token_id": ids["[CLS]"]}


def write_bert(path, weights, tokens, heads, pooling, name, matrices=np.float32):
    """tokens: the vocabulary in the order of the ids; matrices: the type of large weights"""
    layers = 1 + max(int(key.split(".")[2]) for key in weights if key.startswith("encoder.layer."))
    renamed = {**EMBEDDINGS}
    for part in ("weight", "bias"):
        renamed[f"embeddings.LayerNorm.{part}"] = f"token_embd_norm.{part}"
        for source, target in HEAD.items():
            renamed[f"{source}.{part}"] = f"{target}.{part}"
        for layer in range(layers):
            for source, target in LAYER.items():
                renamed[f"encoder.layer.{layer}.{source}.{part}"] = f"blk.{layer}.{target}.{part}"
    small = set(EMBEDDINGS.values()) - {"token_embd.weight"}
    tensors = {target: weights[source].astype(matrices if weights[source].ndim == 2 and target not in small else np.float32)
               for source, target in renamed.items() if source in weights}
    positions, width = weights["embeddings.position_embeddings.weight"].shape
    keys = {"general.architecture": "bert", "general.name": name, "bert.block_count": layers, "bert.context_length": positions,
            "bert.embedding_length": width, "bert.attention.head_count": heads, "bert.attention.layer_norm_epsilon": 1e-12,
            "bert.feed_forward_length": weights["encoder.layer.0.intermediate.dense.weight"].shape[0],
            "bert.attention.causal": False, "bert.pooling_type": POOLINGS[pooling]}
    write_gguf(path, {**keys, **vocabulary_keys(tokens)}, tensors)
