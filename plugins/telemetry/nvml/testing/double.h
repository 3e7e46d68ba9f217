/// NVML's test double, for unit tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/gpu/nvml_double.h"

namespace atl::test {

/// The library as it is in a new process, with these variables of the environment. One at a time. At its end the library was
/// shut down, and nothing was done wrong, or the test fails.
class NvmlLibrary {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  static constexpr const char* kPath = ATOLL_NVML_DOUBLE_PATH;

  NvmlLibrary(std::initializer_list<Variables::value_type> variables = {}) : variables_(variables) {
    for (const auto& [name, value] : variables_) setenv(full(name).c_str(), value.c_str(), 1);
    control().start_over();
  }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary() {
    EXPECT_EQ(report_of(control()), "");
    control().start_over();
    for (const auto& [name, value] : variables_) unsetenv(full(name).c_str());
  }

  static const NvmlDouble& control() {
    static const NvmlDouble* const found = nvml_double(kPath);
    if (found == nullptr) std::abort();
    return *found;
  }
  const NvmlDouble* operator->() const { return &control(); }

  /// As the doubles make it.
  static std::string uuid(int device) {
    return "GPU-a" + std::to_string(device) + "544f4c-4c2d-444f-5542-4c450000000" + std::to_string(device);
  }

 private:
  /// DEVICES and MEMORY are the CUDA driver's.
  static std::string full(const std::string& name) {
    return (name == "DEVICES" || name == "MEMORY" ? "ATOLL_CUDA_DOUBLE_" : "ATOLL_NVML_DOUBLE_") + name;
  }

  Variables variables_;
};

}  // namespace atl::test
