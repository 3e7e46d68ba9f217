/// GPUs of the driver's test double, as memory/cuda and memory/pinned give them.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "atoll/gpu/cuda.h"
#include "atoll/memory/memory.h"
#include "atoll/testing/gpu/cuda_double.h"
#include "backends/cuda/testing/loaded_plugin.h"

namespace atl::cuda_backend::test {

struct GpuSetup {
  uint32_t devices = 1;
  uint64_t pinned_bytes = 1 << 20;  ///< 0: there is no pinned memory
};

/// A driver as it is in a new process. One at a time. At its end everything has been given back, and nothing was used
/// wrongly, or the test fails.
class Gpus {
 public:
  explicit Gpus(const GpuSetup& setup = {}) {
    setenv("ATOLL_CUDA_DOUBLE_DEVICES", std::to_string(setup.devices).c_str(), 1);
    setenv("ATOLL_CUDA_DOUBLE_MEMORY", "1GiB", 1);
    driver().start_over();
    cuda_plugin_.emplace(cuda_host_, ATOLL_CUDA_MEMORY_PLUGIN,
                         atl::test::OptionTexts{{"library", ATOLL_CUDA_DOUBLE_PATH}});
    pinned_host_.registry().publish<Cuda>("cuda", cuda());
    pinned_plugin_.emplace(pinned_host_, ATOLL_PINNED_MEMORY_PLUGIN,
                           atl::test::OptionTexts{{"size", std::to_string(setup.pinned_bytes)}});
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  ~Gpus() {
    EXPECT_EQ(memory().used_bytes(), 0u) << "device memory was not given back";
    EXPECT_EQ(pinned().used_bytes(), 0u) << "pinned memory was not given back";
    pinned_plugin_.reset();
    cuda_plugin_.reset();
    if (checked_) {
      EXPECT_EQ(atl::test::report_of(driver()), "");
    }
    driver().end_failures();
  }

  Cuda& cuda() noexcept { return cuda_plugin_->query<Cuda>(); }
  Memory& memory() noexcept { return cuda_plugin_->query<Memory>(); }
  Memory& pinned() noexcept { return pinned_plugin_->query<Memory>(); }

  static const atl::test::CudaDouble& driver() {
    static const atl::test::CudaDouble* const found = atl::test::cuda_double(ATOLL_CUDA_DOUBLE_PATH);
    if (found == nullptr) std::abort();
    return *found;
  }
  /// For tests that lose a device: what is left over is not looked at, because that does not take it back.
  void do_not_check() noexcept { checked_ = false; }

 private:
  atl::test::FakeHost cuda_host_{"cuda", atl::test::FakeHost::Threads::kReal};
  atl::test::FakeHost pinned_host_{"pinned", atl::test::FakeHost::Threads::kReal};
  std::optional<atl::test::LoadedPlugin> cuda_plugin_, pinned_plugin_;
  bool checked_ = true;
};

}  // namespace atl::cuda_backend::test
