"""make_model.py OUT.gguf [--slow]: a small model with known answers, for a real model server.

Its embeddings are one-hot and its layers are zero, so that its state is the last token, and the output matrix is a table of
the next tokens. Each word of a script is a token that only this script has, and the chat template puts the one that begins a
script at the prompt's end.
"""

import argparse
import pathlib
import re
import struct

from models import gguf
from models.scripts import BY_CONDITION, CUT_ANYWHERE, ENDLESS, CONTINUES, SCRIPTS

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
END = "<|im_end|>"
HEAD = 32


def alphabet():
    """The character that stands for each byte in a byte-level vocabulary, as GPT-2 has it."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + index) for index, byte in enumerate(hidden)}


ALPHABET = alphabet()


class Vocabulary:
    def __init__(self):
        self.indexes, self.kinds, self.next = {}, [], {}
        for byte in range(256):
            self.add(ALPHABET[byte], NORMAL)
        for token in ("<|endoftext|>", "<|im_start|>", END):
            self.add(token, CONTROL)

    def add(self, token, kind):
        self.indexes[token] = len(self.kinds)
        self.kinds.append(kind)

    def add_script(self, name, text):
        first = f"<|script_{name}|>"
        self.add(first, CONTROL)
        tokens = self.cut(text if isinstance(text, bytes) else text.encode(), name)
        for token in tokens:
            self.add(token, USER_DEFINED if name in CONTINUES else NORMAL)
        end = tokens[0] if name in ENDLESS else END
        self.next |= zip([first, *tokens], [*tokens, end])

    def cut(self, text, name):
        """The script as tokens that no other script has."""
        pieces = re.findall(rb"(?s).{1,3}" if name in CUT_ANYWHERE else rb"\s*\S+|\s+", text)
        tokens = []
        for piece in pieces:
            token = piece.decode() if name in CONTINUES else "".join(ALPHABET[byte] for byte in piece)
            if tokens and (tokens[-1] in self.indexes or tokens[-1] in tokens[:-1]):
                tokens[-1] += token
            else:
                tokens.append(token)
        while tokens and (tokens[-1] in self.indexes or tokens[-1] in tokens[:-1]):
            last = tokens.pop()
            tokens[-1] += last
        return tokens

    def pad(self, multiple):
        while len(self.kinds) % multiple:
            self.add(f"<|unused_{len(self.kinds)}|>", CONTROL)


def matrix(size, cells):
    """A square matrix of half floats, zero except for these cells."""
    data = bytearray(2 * size * size)
    for row, column, value in cells:
        struct.pack_into("<e", data, 2 * (row * size + column), value)
    return data


def layer(number, size, inner):
    """A layer that adds zero."""
    ones = struct.pack(f"<{size}f", *[1.0] * size)
    shapes = {"attn_q": (2 * HEAD, size), "attn_k": (2 * HEAD, size), "attn_v": (2 * HEAD, size)}
    shapes |= {"attn_output": (size, 2 * HEAD)}
    shapes |= {"ffn_gate": (inner, size), "ffn_up": (inner, size), "ffn_down": (size, inner)}
    tensors = {f"{name}_norm": (gguf.F32, 0, size, ones) for name in ("attn", "ffn")}
    tensors |= {name: (gguf.F16, *shape, None) for name, shape in shapes.items()}
    return {f"blk.{number}.{name}.weight": tensor for name, tensor in tensors.items()}


def template():
    by_word = [name for name in SCRIPTS if name not in BY_CONDITION]
    return f"{{%- set scripts = {by_word} %}}\n" + pathlib.Path(__file__).with_name("chat_template.jinja").read_text()


def make(path, slow=False):
    vocabulary = Vocabulary()
    for name, text in SCRIPTS.items():
        vocabulary.add_script(name, text)
    vocabulary.pad(64)
    indexes, size = vocabulary.indexes, len(vocabulary.kinds)
    layers, inner = (1, 16384) if slow else (1, 64)
    counts = {
        "context_length": 4096, "embedding_length": size, "block_count": layers, "feed_forward_length": inner,
        "attention.head_count": 2, "attention.head_count_kv": 2, "attention.key_length": HEAD,
        "attention.value_length": HEAD, "rope.dimension_count": HEAD, "vocab_size": size,
    }
    metadata = {
        "general.architecture": (gguf.STRING, "llama"),
        "general.name": (gguf.STRING, "scripted"),
        **{f"llama.{name}": (gguf.UINT32, count) for name, count in counts.items()},
        "llama.attention.layer_norm_rms_epsilon": (gguf.FLOAT32, 1e-6),
        "tokenizer.ggml.model": (gguf.STRING, "gpt2"),
        "tokenizer.ggml.pre": (gguf.STRING, "gpt-2"),
        "tokenizer.ggml.tokens": (gguf.STRING, list(indexes)),
        "tokenizer.ggml.token_type": (gguf.INT32, vocabulary.kinds),
        "tokenizer.ggml.merges": (gguf.STRING, []),
        "tokenizer.ggml.bos_token_id": (gguf.UINT32, indexes["<|endoftext|>"]),
        "tokenizer.ggml.eos_token_id": (gguf.UINT32, indexes[END]),
        "tokenizer.ggml.add_bos_token": (gguf.BOOL, False),
        "tokenizer.chat_template": (gguf.STRING, template()),
    }
    # The next token leads by 40 once the state is normalised, so that sampling cannot miss it.
    weight = 40 / size**0.5
    follows = [(indexes[vocabulary.next.get(token, END)], index, weight) for token, index in indexes.items()]
    tensors = {
        "token_embd.weight": (gguf.F16, size, size, matrix(size, ((index, index, 1) for index in range(size)))),
        "output_norm.weight": (gguf.F32, 0, size, struct.pack(f"<{size}f", *[1.0] * size)),
        "output.weight": (gguf.F16, size, size, matrix(size, follows)),
    }
    for number in range(layers):
        tensors |= layer(number, size, inner)
    gguf.write(path, metadata, tensors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--slow", action="store_true", help="some tens of milliseconds a token")
    options = parser.parse_args()
    make(options.out, options.slow)
