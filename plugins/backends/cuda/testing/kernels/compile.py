#!/usr/bin/env python3
"""Makes kernels.ptx of kernels.cu: compile.py LIBNVRTC.

The library is that of the PyPI package nvidia-cuda-nvrtc-cu12==12.9.86, which needs no GPU. A newer one makes the same code
with a newer `.version`, which older drivers refuse.
"""
import ctypes
import pathlib
import sys

ARCHITECTURE = "compute_75"  # the oldest that current compilers know: its PTX runs on everything newer


def compile_source(nvrtc, source: str, name: str) -> str:
    def check(result: int) -> None:
        if result != 0:
            raise RuntimeError(nvrtc.nvrtcGetErrorString(result).decode())

    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
    options = [b"--std=c++17", f"--gpu-architecture={ARCHITECTURE}".encode()]
    result = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if result != 0:
        check(nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)))
        log = ctypes.create_string_buffer(size.value)
        check(nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(log.value.decode())
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.value.decode()


def main() -> None:
    here = pathlib.Path(__file__).parent
    nvrtc = ctypes.CDLL(sys.argv[1])
    ptx = compile_source(nvrtc, (here / "kernels.cu").read_text(), "kernels.cu")
    (here / "kernels.ptx").write_text(ptx.rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
