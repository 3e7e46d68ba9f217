/// Devices of the driver's test double, for unit tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "atoll/request/tensor.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/gpu/cuda_double.h"
#include "memory/cuda/devices.h"

namespace atl::test {

inline Buffer host_buffer(std::string& bytes) {
  Buffer buffer;
  buffer.data = bytes.data();
  buffer.size_bytes = bytes.size();
  return buffer;
}

struct GpuSetup {
  uint32_t devices = 1;
  const char* compute_capability = "9.0";
  const char* compute_mode = "0";
  const char* taken = "0";
  uint32_t driver_version = 13000;
  uint32_t init = 0;  ///< what cuInit returns
  const char* memory = "1GiB";
  memory::DeviceChoice choice = {};
};

/// A driver as it is in a new process, and the devices of it. One at a time. At its end everything has been given back,
/// and nothing was used wrongly, or the test fails.
class Gpus {
 public:
  explicit Gpus(const GpuSetup& setup = {}) {
    set("DEVICES", std::to_string(setup.devices));
    set("COMPUTE_CAPABILITY", setup.compute_capability);
    set("COMPUTE_MODE", setup.compute_mode);
    set("TAKEN", setup.taken);
    set("MEMORY", setup.memory);
    set("DRIVER", std::to_string(setup.driver_version));
    set("INIT", std::to_string(setup.init));
    driver().start_over();
    open(setup.choice);
  }
  /// Not opened yet, so that a test can plan failures of that.
  struct Closed {};
  explicit Gpus(Closed) { driver().start_over(); }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  ~Gpus() {
    devices_.close();
    if (checked_) {
      EXPECT_EQ(report_of(driver()), "");
    }
    driver().end_failures();
  }

  void open(const memory::DeviceChoice& choice = {}) { devices_.open(memory::open_driver(kPath), choice); }
  memory::Devices& devices() noexcept { return devices_; }
  const RecordingLog& log() noexcept { return host_.log(); }
  FakeHost& host() noexcept { return host_; }

  static const CudaDouble& driver() {
    static const CudaDouble* const found = cuda_double(kPath);
    if (found == nullptr) std::abort();
    return *found;
  }
  /// What is left over is not looked at: the device does not take it back.
  void lose(int32_t device) {
    checked_ = false;
    (void)devices_.report(device, "cuStreamSynchronize", CudaResult::ILLEGAL_ADDRESS).ok();
  }
  void do_not_check() noexcept { checked_ = false; }

  static constexpr const char* kPath = ATOLL_CUDA_DOUBLE_PATH;

 private:
  static void set(const char* name, const std::string& value) {
    setenv((std::string("ATOLL_CUDA_DOUBLE_") + name).c_str(), value.c_str(), 1);
  }

  FakeHost host_{"cuda", FakeHost::Threads::kReal};
  memory::Devices devices_{host_};
  bool checked_ = true;
};

}  // namespace atl::test
