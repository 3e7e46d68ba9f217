#!/usr/bin/env python3
"""Makes kernels.ptx of kernels.cu: bench/gpu/kernels/compile.py [--nvrtc LIBRARY].

By NVRTC of CUDA 12.9 (wheel nvidia-cuda-nvrtc-cu12 12.9.86), whose PTX every driver from 575 on takes; a newer one's is refused
by older drivers. For compute capability 7.5, from which the driver makes code for what it has.
"""

import argparse
import ctypes
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
OPTIONS = [b"--gpu-architecture=compute_75", b"--std=c++17"]


def check(library, result):
    if result != 0:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise SystemExit(library.nvrtcGetErrorString(result).decode())


def compile_source(source, nvrtc):
    library = ctypes.CDLL(nvrtc)
    program = ctypes.c_void_p()
    check(library, library.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None))
    result = library.nvrtcCompileProgram(program, len(OPTIONS), (ctypes.c_char_p * len(OPTIONS))(*OPTIONS))
    size = ctypes.c_size_t()
    if result != 0:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    check(library, library.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(library, library.nvrtcGetPTX(program, ptx))
    # What the compiler says of itself is of no use, and changes.
    return re.sub(r"^//.*\n", "", ptx.value.decode(), flags=re.M).strip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvrtc", default="libnvrtc.so.12", help="a name that the loader looks for, or a path")
    options = parser.parse_args()
    ptx = compile_source((FOLDER / "kernels.cu").read_bytes(), options.nvrtc)
    (FOLDER / "kernels.ptx").write_text(ptx)
    version = re.search(r"\.version (\S+)", ptx).group(1)
    print(f"kernels.ptx: PTX {version}, {len(ptx)} bytes")
    sys.exit(0 if version == "8.8" else f"expected PTX 8.8, of CUDA 12.9: found {version}")


if __name__ == "__main__":
    main()
