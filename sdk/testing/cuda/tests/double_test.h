/// The double as whoever uses the driver opens it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "atoll/gpu/cuda_driver.h"
#include "atoll/testing/gpu/cuda_double.h"

namespace atl {

/// For GoogleTest.
inline void PrintTo(CudaResult result, std::ostream* out) {
  *out << static_cast<int>(result) << " " << cuda_result_name(result);
}

}  // namespace atl

namespace atl::test {

/// The path of the library under test.
inline const char* double_path() { return ATOLL_CUDA_DOUBLE; }

inline void* double_symbol(const char* name) {
  static void* library = dlopen(double_path(), RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, name);
}

inline CudaSymbolFunction symbols() {
  return reinterpret_cast<CudaSymbolFunction>(double_symbol(kCudaSymbolSymbol));
}

inline CudaResult initialise_double() {
  return reinterpret_cast<CudaInitFunction>(double_symbol(kCudaInitSymbol))(0);
}

inline CudaDriver make_driver() {
  CudaDriver made;
  void* function = nullptr;
  CudaSymbolState state = CudaSymbolState::kNotFound;
#define ATOLL_CUDA_ASK(name, version, need, parameters)            \
  symbols()(#name, &function, version, kCudaLegacyStream, &state); \
  EXPECT_EQ(state, CudaSymbolState::kFound) << #name;              \
  made.name = reinterpret_cast<decltype(made.name)>(function);
  ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_ASK)
#undef ATOLL_CUDA_ASK
  return made;
}

#define EXPECT_CUDA(expected, call) EXPECT_EQ(CudaResult::expected, call)
#define ASSERT_CUDA(call) ASSERT_EQ(CudaResult::SUCCESS, call)

/// A process that has just begun; nothing is left of it, and nothing was done wrong, when the test ends.
class DoubleTest : public ::testing::Test {
 protected:
  DoubleTest() : control(*cuda_double(double_path())), cuda(driver()) { control.start_over(); }
  ~DoubleTest() override {
    control.start_over();
    for (const std::string& name : set_) unsetenv(name.c_str());
  }

  /// Of the process, before begin().
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  /// cuInit, and the context of the device on this thread.
  void begin(CudaDevice device = 0) {
    ASSERT_CUDA(initialise_double());
    ASSERT_CUDA(cuda.cuDevicePrimaryCtxRetain(&context, device));
    ASSERT_CUDA(cuda.cuCtxSetCurrent(context));
  }
  /// \return what is left then
  std::string end(CudaDevice device = 0) {
    EXPECT_CUDA(SUCCESS, cuda.cuCtxSetCurrent(nullptr));
    EXPECT_CUDA(SUCCESS, cuda.cuDevicePrimaryCtxRelease(device));
    return report_of(control);
  }
  CudaStream make_stream() {
    CudaStream stream = nullptr;
    EXPECT_CUDA(SUCCESS, cuda.cuStreamCreateWithPriority(&stream, kCudaStreamNonBlocking, 0));
    return stream;
  }
  CudaEvent make_event(uint32_t flags = 0) {
    CudaEvent event = nullptr;
    EXPECT_CUDA(SUCCESS, cuda.cuEventCreate(&event, flags));
    return event;
  }
  CudaAddress allocate(size_t bytes) {
    CudaAddress address = 0;
    EXPECT_CUDA(SUCCESS, cuda.cuMemAlloc(&address, bytes));
    return address;
  }
  template <class T>
  T* pin(size_t count) {
    void* address = nullptr;
    EXPECT_CUDA(SUCCESS, cuda.cuMemHostAlloc(&address, count * sizeof(T), kCudaHostPortable));
    return static_cast<T*>(address);
  }

  const CudaDouble& control;
  const CudaDriver& cuda;
  CudaContext context = nullptr;

 private:
  static const CudaDriver& driver() {
    static const CudaDriver made = make_driver();
    return made;
  }
  std::vector<std::string> set_;
};

/// Of memory of the host, as copies take it.
inline CudaAddress at(const void* host) { return reinterpret_cast<CudaAddress>(host); }

}  // namespace atl::test
