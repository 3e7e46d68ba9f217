#include "memory/cuda/driver_library.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace atl::memory {
namespace {

/// A driver that has every function asked for, but none that can be called except cuDriverGetVersion.
struct Pretended {
  CudaResult init = CudaResult::SUCCESS;
  CudaResult version_result = CudaResult::SUCCESS;
  int32_t version = 12000;
  std::string missing = {};   ///< a symbol
  int32_t missing_above = 0;  ///< optional symbols newer than this; 0: none
  uint64_t flags = 0;         ///< those of the last look-up
  int32_t asked_version_of_alloc = 0;
};
Pretended pretended;

CudaResult init(uint32_t) { return pretended.init; }
CudaResult get_version(int32_t* version) {
  *version = pretended.version;
  return pretended.version_result;
}
CudaResult symbol(const char* name, void** function, int32_t version, uint64_t flags,
                  CudaSymbolState* state) {
  pretended.flags = flags;
  if (std::strcmp(name, "cuMemAlloc") == 0) pretended.asked_version_of_alloc = version;
  const bool is_missing =
      pretended.missing == name || (pretended.missing_above != 0 && version > pretended.missing_above);
  *state = is_missing ? CudaSymbolState::kNotFound : CudaSymbolState::kFound;
  *function = is_missing ? nullptr : reinterpret_cast<void*>(&get_version);
  return CudaResult::SUCCESS;
}

std::string bind_failure(const Pretended& how) {
  pretended = how;
  const Result<BoundDriver> driver = bind_driver({&init, &symbol});
  if (driver.ok()) return "OK";
  EXPECT_EQ(driver.status().code(), Code::kUnavailable);
  return std::string(driver.status().message());
}

TEST(DriverLibrary, WithoutADriverThatIsSaid) {
  const Result<DriverEntry> entry = open_driver("/nowhere/libcuda.so.1");
  ASSERT_FALSE(entry.ok());
  EXPECT_EQ(entry.status().code(), Code::kUnavailable);
  EXPECT_EQ(
      entry.status().message(),
      "there is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory");
}

TEST(DriverLibrary, AnotherLibraryIsNoDriver) {
  const Result<DriverEntry> entry = open_driver("libm.so.6");
  ASSERT_FALSE(entry.ok());
  EXPECT_EQ(
      entry.status().message(),
      "the CUDA driver cannot be used: libm.so.6 has no cuInit; expected a driver for CUDA 12.0 at least");
}

TEST(DriverLibrary, CodesOfTheStartAreExplained) {
  const auto init_failure = [](CudaResult code) { return bind_failure({.init = code}); };
  const std::string begin = "the CUDA driver cannot be used: cuInit gave CUDA_ERROR_";
  EXPECT_EQ(init_failure(CudaResult::NO_DEVICE), begin + "NO_DEVICE (100): it finds no GPU");
  EXPECT_EQ(init_failure(CudaResult::STUB_LIBRARY),
            begin + "STUB_LIBRARY (34): the library is one to link to, not a driver");
  EXPECT_EQ(
      init_failure(CudaResult::SYSTEM_DRIVER_MISMATCH),
      begin + "SYSTEM_DRIVER_MISMATCH (803): the library and the kernel's driver are of different versions");
  EXPECT_EQ(init_failure(CudaResult::SYSTEM_NOT_READY),
            begin + "SYSTEM_NOT_READY (802): a service that the GPUs need does not run yet");
  EXPECT_EQ(init_failure(CudaResult::DEVICE_UNAVAILABLE),
            begin + "DEVICE_UNAVAILABLE (46): another process has the GPU for itself");
  EXPECT_EQ(init_failure(static_cast<CudaResult>(1234)),
            "the CUDA driver cannot be used: cuInit gave error 1234");
}

TEST(DriverLibrary, AnOldDriverIsRefused) {
  EXPECT_EQ(bind_failure({.version = 11080}), "the CUDA driver is of version 11.8, expected 12.0 at least");
  EXPECT_EQ(bind_failure({.version_result = CudaResult::INVALID_VALUE}),
            "the CUDA driver cannot be used: cuDriverGetVersion gave CUDA_ERROR_INVALID_VALUE (1)");
}

TEST(DriverLibrary, OnlyOptionalFunctionsMayBeMissing) {
  EXPECT_EQ(bind_failure({.missing = "cuMemPoolCreate"}),
            "the CUDA driver cannot be used: it has no cuMemPoolCreate of version 11.2");
  pretended = {.missing_above = 12000};
  const Result<BoundDriver> driver = bind_driver({&init, &symbol});
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  EXPECT_EQ(driver.value().functions.cuKernelGetParamInfo, nullptr);
  EXPECT_NE(driver.value().functions.cuLibraryLoadData, nullptr);
}

TEST(DriverLibrary, SymbolsAreAskedForByTheirFixedVersions) {
  EXPECT_EQ(bind_failure({.version = 13010}), "OK");
  EXPECT_EQ(pretended.asked_version_of_alloc, 3020);
  EXPECT_EQ(pretended.flags, kCudaLegacyStream);
}

TEST(CudaResults, SayWhatIsToBeDone) {
  const auto all = [](std::initializer_list<int32_t> codes, CudaFault fault) {
    for (const int32_t code : codes) EXPECT_EQ(cuda_fault(static_cast<CudaResult>(code)), fault) << code;
  };
  all({0, 600}, CudaFault::kNone);
  all({1, 200, 201, 400, 500, 701, 218, 222, 4711}, CudaFault::kCall);
  all({2}, CudaFault::kMemory);
  all({900, 901, 902, 903, 904, 905, 906, 907, 908, 910}, CudaFault::kCapture);
  all({226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 214, 220, 46, 101, 999},
      CudaFault::kDeviceLost);
  all({3, 34, 100, 802, 803}, CudaFault::kUnavailable);
}

TEST(CudaResults, NamesAreTheDrivers) {
  EXPECT_EQ(cuda_result_name(CudaResult::OUT_OF_MEMORY), "OUT_OF_MEMORY");
  EXPECT_EQ(cuda_result_name(CudaResult::MAP_FAILED_), "MAP_FAILED");
  EXPECT_EQ(cuda_result_name(static_cast<CudaResult>(4711)), "");
  EXPECT_STREQ(cuda_symbol_name<&CudaDriver::cuMemAlloc>(), "cuMemAlloc");
  EXPECT_STREQ(cuda_symbol_name<&CudaDriver::cuMemFree>(), "cuMemFree");
}

}  // namespace
}  // namespace atl::memory
