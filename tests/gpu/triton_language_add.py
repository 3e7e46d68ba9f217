"""A kernel in the Triton language, in a file of its own: its compiler reads the source."""

import triton
import triton.language as tl


@triton.jit
def add(a, b, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)
