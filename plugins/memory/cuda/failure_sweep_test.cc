// Every call of the driver fails once, at every place, in every way: nothing is left behind, and what was asked for
// either works or says what went wrong.
#include <functional>
#include <memory>

#include "memory/cuda/cuda_memory.h"
#include "memory/cuda/testing/gpus.h"
#include "memory/cuda/testing/shared_allocation.h"

namespace atl::memory {
namespace {

using test::Gpus;
using test::host_buffer;
using test::SharedAllocation;

void expect_clear(const Status& status) {
  if (status.ok()) return;
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(status.message().find('\n'), std::string_view::npos);
  EXPECT_TRUE(status.code() == Code::kInternal || status.code() == Code::kResourceExhausted ||
              status.code() == Code::kUnavailable || status.code() == Code::kInvalidArgument)
      << status.message();
}

void copy_there_and_back(CudaMemory& memory, const Buffer& buffer) {
  std::string sent = "0123456789", got(10, '?');
  Buffer part = buffer;
  part.size_bytes = 10;
  const Status there = memory.copy(part, host_buffer(sent));
  expect_clear(there);
  const Status back = memory.copy(host_buffer(got), part);
  expect_clear(back);
  if (there.ok() && back.ok()) {
    EXPECT_EQ(got, sent);
  }
}

void use_growable(CudaMemory& memory, int32_t device) {
  auto made = memory.allocate_growable(10, 16 << 20, device);
  expect_clear(made.status());
  if (!made.ok()) return;
  const uint64_t had = made->size_bytes;
  const Status grown = memory.grow(*made, 8 << 20);
  expect_clear(grown);
  EXPECT_EQ(made->size_bytes, grown.ok() ? uint64_t{8 << 20} : had);
  copy_there_and_back(memory, *made);
  memory.free_growable(*made);
}

void use_handle(CudaMemory& memory, const SharedAllocation& shared) {
  auto opened = memory.open_handle(shared.handle(), 0, 100);
  expect_clear(opened.status());
  if (!opened.ok()) return;
  copy_there_and_back(memory, *opened);
  memory.close_handle(*opened);
}

/// All that memory/cuda does.
void use(Gpus& gpus, const SharedAllocation& shared) {
  gpus.open();
  Devices& devices = gpus.devices();
  EXPECT_EQ(devices.devices().empty(), !devices.absence().ok());
  CudaMemory memory(devices, {.limit = {}, .kept = {.all = 1 << 20, .some = {}}});
  for (const int32_t device : memory.devices()) {
    auto buffer = memory.allocate(1000, device);
    expect_clear(buffer.status());
    if (buffer.ok()) {
      copy_there_and_back(memory, *buffer);
      memory.free(*buffer);
    }
    use_growable(memory, device);
    auto usage = memory.device_usage(device);
    expect_clear(usage.status());
    if (usage.ok()) {
      EXPECT_LE(usage->free_bytes, usage->total_bytes);
    }
    auto event = devices.acquire_event(device);
    expect_clear(event.status());
    if (event.ok()) devices.release_event(device, event.value());
    auto of_buffer = memory.make_event(device);
    expect_clear(of_buffer.status());
    if (of_buffer.ok()) {
      expect_clear((*of_buffer)->wait());
      (void)(*of_buffer)->is_reached();
      memory.free_event(*of_buffer);
    }
  }
  if (!memory.devices().empty() && memory.devices()[0] == 0) use_handle(memory, shared);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

class FailureSweep : public ::testing::TestWithParam<CudaResult> {};

TEST_P(FailureSweep, EveryCallMayFail) {
  setenv("ATOLL_CUDA_DOUBLE_DEVICES", "2", 1);
  const SharedAllocation shared(1000);
  const bool is_sticky = cuda_fault(GetParam()) == CudaFault::kDeviceLost;
  uint64_t nth = 0;
  for (bool has_failed = true; has_failed && !HasFailure();) {
    SCOPED_TRACE(::testing::Message() << "call " << ++nth);
    Gpus gpus{Gpus::Closed{}};
    if (is_sticky) gpus.do_not_check();  // what is the lost device's stays with it
    const uint64_t before = gpus.driver().calls("*");
    gpus.driver().fail_call("*", nth, GetParam());
    use(gpus, shared);
    has_failed = gpus.driver().calls("*") - before >= nth;
  }
  EXPECT_GT(nth, 50u);
}

std::string name_of(const ::testing::TestParamInfo<CudaResult>& info) {
  return std::string(cuda_result_name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Codes, FailureSweep,
                         ::testing::Values(CudaResult::OUT_OF_MEMORY, CudaResult::INVALID_VALUE,
                                           CudaResult::ILLEGAL_ADDRESS, CudaResult::STREAM_CAPTURE_IMPLICIT),
                         &name_of);

/// The device breaks at one operation, and every later call for it would say so.
TEST(FailureSweepOfADevice, EveryOperationMayBreakIt) {
  setenv("ATOLL_CUDA_DOUBLE_DEVICES", "2", 1);
  const SharedAllocation shared(1000);
  for (uint64_t nth = 1; nth <= 30; ++nth) {
    SCOPED_TRACE(::testing::Message() << "operation " << nth);
    Gpus gpus{Gpus::Closed{}};
    gpus.open();
    CudaMemory memory(gpus.devices(), {});
    gpus.driver().fail_operation(0, nth, CudaResult::ILLEGAL_ADDRESS);
    for (uint32_t i = 0; i < 5; ++i) {
      auto buffer = memory.allocate(1000, 0);
      expect_clear(buffer.status());
      if (!buffer.ok()) continue;
      copy_there_and_back(memory, *buffer);
      memory.free(*buffer);
    }
    auto other = memory.allocate(1000, 1);
    ASSERT_TRUE(other.ok()) << "the other device serves";
    copy_there_and_back(memory, *other);
    memory.free(*other);
    EXPECT_EQ(memory.used_bytes(), 0u);
    if (gpus.devices().lost(0).ok()) break;
    EXPECT_EQ(memory.devices(), std::vector<int32_t>{1});
  }
}

}  // namespace
}  // namespace atl::memory
