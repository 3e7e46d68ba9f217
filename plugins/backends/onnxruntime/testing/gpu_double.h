/// ONNX Runtime with a CUDA provider that is none: a library of its own, which option `library` names. It computes with the
/// real library on the CPU, and takes tensors in memory of the CUDA driver's test double as the real provider takes those of
/// a GPU: by address alone, at once, without waiting for anybody's streams.
#pragma once

#include <dlfcn.h>

#include <cstdint>

namespace atl::ort::test {

struct GpuDouble {
  /// One line for each session on a GPU that was made: its device and the provider's options.
  const char* (*sessions)();
  /// Of all runs of such sessions: how many there were, and how many of their tensors were on the device.
  struct Counts {
    uint64_t runs = 0;
    uint64_t inputs = 0;
    uint64_t outputs = 0;
    uint64_t replays = 0;  ///< runs of a graph that was there
    bool operator==(const Counts&) const = default;
  };
  Counts (*counts)();
  /// The nth run from now on, from 1, fails and its device is lost.
  void (*lose_device)(uint64_t nth);
  /// The provider cannot be loaded, for this reason; empty: it can.
  void (*fail_loading)(const char* reason);
  /// Sessions with graphs cannot be made, and those that are there record none.
  void (*refuse_graphs)();
  /// Nothing has been counted, nothing is to fail.
  void (*forget)();
};

/// The library's only symbol beside OrtGetApiBase. A process that cannot call it says what it wants by the environment:
/// ATOLL_ONNXRUNTIME_DOUBLE_REPORT is a file to which counts and sessions are appended when its environment goes,
/// ATOLL_ONNXRUNTIME_DOUBLE_FAILURE what fail_loading() is told.
inline constexpr const char* kGpuDoubleSymbol = "atoll_onnxruntime_double";

/// Null: there is no such library.
inline const GpuDouble* gpu_double(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto entry = reinterpret_cast<const GpuDouble* (*)()>(dlsym(library, kGpuDoubleSymbol));
  return entry == nullptr ? nullptr : entry();
}

}  // namespace atl::ort::test
