/// The test double of the CUDA driver, as a test sees it: `libcuda.so.1` under lib/atoll/testing of a build.
///
/// It is put before the real one by LD_LIBRARY_PATH, or opened by its path before anything asks for `libcuda.so.1`. What
/// it pretends to be is said by the environment, and read when cuInit is called for the first time:
///
/// | variable | default | what |
/// | --- | --- | --- |
/// | ATOLL_CUDA_DOUBLE_DEVICES | 1 | how many |
/// | ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY | 9.0 | this and the next four: one value a device by commas, the last one goes on |
/// | ATOLL_CUDA_DOUBLE_MEMORY | 16GiB | bytes; suffixes KiB, MiB, GiB |
/// | ATOLL_CUDA_DOUBLE_COMPUTE_MODE | 0 | 0, 2 (prohibited) or 3 (one process at a time) |
/// | ATOLL_CUDA_DOUBLE_TAKEN | 0 | 1: another process has the device |
/// | ATOLL_CUDA_DOUBLE_NAME | Atoll Test GPU | |
/// | ATOLL_CUDA_DOUBLE_DRIVER | 13000 | the version that the driver says it has |
/// | ATOLL_CUDA_DOUBLE_INIT | 0 | what cuInit returns |
/// | ATOLL_CUDA_DOUBLE_STEPPED | 0 | 1: streams run only when step() is called |
/// | ATOLL_CUDA_DOUBLE_FAIL | | `FUNCTION:NTH:CODE` by commas, as fail_call(); FUNCTION `*` is any |
/// | ATOLL_CUDA_DOUBLE_STICKY | | `DEVICE:NTH:CODE`, as fail_operation() |
/// | ATOLL_CUDA_DOUBLE_HANG_EVENT | 0 | as hang_event() |
/// | ATOLL_CUDA_DOUBLE_SLOW_COPY_US | 0 | as slow_copies(), in microseconds |
/// | ATOLL_CUDA_DOUBLE_KERNELS | | shared objects by colons, each with a `CudaDoubleKernels` |
/// | ATOLL_CUDA_DOUBLE_REPORT | | file that report() is appended to when the process ends; `-`: the standard error |
/// | CUDA_VISIBLE_DEVICES | all | indices or beginnings of uuids by commas, up to the first that there is not |
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "atoll/gpu/cuda_driver.h"

namespace atl::test {

/// One launch of a kernel: all of its grid.
struct CudaDoubleLaunch {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;         ///< dynamic
  uint32_t argument_count;       ///< as in the PTX
  const void* const* arguments;  ///< pointers to the values, as they were at the launch or are in the graph
  /// Where the CPU finds device memory that is allocated now, or pinned memory. Null: it is neither, and the kernel should
  /// return ILLEGAL_ADDRESS.
  void* (*memory)(CudaAddress address, size_t bytes);

  template <class T>
  const T& argument(size_t index) const noexcept {
    return *static_cast<const T*>(arguments[index]);
  }
  /// \param index  of an argument that is an address \return as memory()
  template <class T>
  T* array(size_t index, size_t count) const noexcept {
    return static_cast<T*>(memory(argument<CudaAddress>(index), count * sizeof(T)));
  }
};

/// What a kernel does, in stream order, on a thread of the double's. Must call no function of the driver. Another result
/// than SUCCESS is an error of the device, which is lost from then on.
using CudaDoubleKernel = CudaResult (*)(const CudaDoubleLaunch& launch);

/// How a test scripts the double. All functions may be called from any thread but kernels and host functions.
struct CudaDouble {
  uint32_t size_bytes;

  // --- failures. Counts begin with the next call ---

  /// The nth call (from 1) of the function returns the code and does nothing; a call that gives something back does it
  /// nevertheless, as the driver does. \param function  "cuMemAlloc"; "*": of all together \param nth  0: every call
  void (*fail_call)(const char* function, uint64_t nth, CudaResult code);
  /// The nth operation that the device executes fails; every later call on the device gives the same code.
  void (*fail_operation)(int32_t device, uint64_t nth, CudaResult code);
  /// The device is lost now.
  void (*fail_device)(int32_t device, CudaResult code);
  /// Allocations that would make the device use more fail. UINT64_MAX: no such limit
  void (*limit_memory)(int32_t device, uint64_t bytes);
  /// The nth event that is recorded (from 1) is never done, nor what comes after it in its stream.
  void (*hang_event)(uint64_t nth);
  /// Every copy takes so much longer.
  void (*slow_copies)(uint64_t nanoseconds);
  /// No failures from now on; what hangs goes on. A lost device stays lost.
  void (*end_failures)();

  // --- streams ---

  /// Stepped: operations are executed by step() alone, and calls that wait do until another thread has stepped far enough.
  void (*set_stepped)(bool stepped);
  /// Executes the next operation that may run, of the stream that was made first. \return whether there was one
  bool (*step)();

  // --- what happened ---

  /// Calls of the function so far; "*": of all
  uint64_t (*calls)(const char* function);
  uint64_t (*operations)(int32_t device);
  /// Bytes that the device's allocations and pools have.
  uint64_t (*used_memory)(int32_t device);
  /// One line for each kind of thing that was not given back, without those of lost devices, and one for each misuse: what
  /// was used after its end, in another context, or freed in use. Empty: all is well. \return bytes of all of it
  size_t (*report)(char* text, size_t room);

  // --- memory and kernels ---

  /// Where the CPU finds the bytes behind addresses of device memory; null: these are not allocated. What streams still do with them is
  /// not waited for.
  void* (*memory)(CudaAddress address, size_t bytes);
  /// What a kernel of this name does, of whatever module.
  void (*register_kernel)(const char* name, CudaDoubleKernel kernel);

  /// As if the process had just begun: for tests that want other devices. No other thread may use the double; kernels stay
  /// registered.
  void (*start_over)();
};

/// The double's only symbol beside the driver's.
inline constexpr const char* kCudaDoubleSymbol = "atoll_cuda_double";
using CudaDoubleFunction = const CudaDouble* (*)();

/// What a shared object of ATOLL_CUDA_DOUBLE_KERNELS exports by this name: called during cuInit.
inline constexpr const char* kCudaDoubleKernelsSymbol = "atoll_cuda_double_kernels";
using CudaDoubleKernels = void (*)(const CudaDouble& made_for);

/// The double that this process has. \param path  "": the one that is opened already, or is found as the driver is
/// \return null: there is no driver, or it is a real one
inline const CudaDouble* cuda_double(const std::string& path = {}) {
  void* library = dlopen(path.empty() ? "libcuda.so.1" : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto function = reinterpret_cast<CudaDoubleFunction>(dlsym(library, kCudaDoubleSymbol));
  return function == nullptr ? nullptr : function();
}

/// report() as a string.
inline std::string report_of(const CudaDouble& driver) {
  std::string text(driver.report(nullptr, 0), '\0');
  driver.report(text.data(), text.size());
  return text;
}

}  // namespace atl::test
