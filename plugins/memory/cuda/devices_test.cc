#include "memory/cuda/devices.h"

#include <chrono>
#include <future>

#include "memory/cuda/testing/gpus.h"

namespace atl::memory {
namespace {

using test::Gpus;

/// Runs once, with the outcome.
struct Outcome {
  std::promise<Status> promise;
  CudaDone done() {
    return {[](void* argument, Status outcome) {
              static_cast<Outcome*>(argument)->promise.set_value(std::move(outcome));
            },
            this};
  }
};

TEST(Devices, SayWhatTheyAre) {
  Gpus gpus({.devices = 2, .compute_capability = "8.6,9.0", .memory = "1GiB"});
  const auto infos = gpus.devices().devices();
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(infos[0].ordinal, 0);
  EXPECT_EQ(infos[0].capability, 86);
  EXPECT_EQ(infos[1].capability, 90);
  EXPECT_EQ(infos[1].memory_bytes, 1u << 30);
  EXPECT_EQ(infos[1].pci_id, "0000:02:00.0");
  EXPECT_TRUE(infos[1].uuid.starts_with("GPU-a1")) << infos[1].uuid;
  EXPECT_EQ(infos[1].uuid.size(), 40u);
  EXPECT_TRUE(gpus.devices().absence().ok());
  EXPECT_EQ(
      gpus.log().count(LogLevel::kInfo, "GPU 1: Atoll Test GPU, compute capability 9.0, 1.0 GiB of memory"),
      1u);
}

TEST(Devices, NobodyTouchesADeviceThatNobodyUses) {
  Gpus gpus({.devices = 2});
  EXPECT_EQ(gpus.driver().calls("cuDevicePrimaryCtxRetain"), 0u);
  EXPECT_TRUE(gpus.devices().ensure_current(1).ok());
  EXPECT_TRUE(gpus.devices().ensure_current(1).ok());
  EXPECT_EQ(gpus.driver().calls("cuDevicePrimaryCtxRetain"), 1u);
}

TEST(Devices, WhatCanNotBeUsedIsLeftOutWithALine) {
  Gpus gpus({.devices = 3,
             .compute_capability = "5.2,9.0",
             .compute_mode = "0,2,0",
             .choice = {.ordinals = {}, .min_capability = 60}});
  ASSERT_EQ(gpus.devices().devices().size(), 1u);
  EXPECT_EQ(gpus.devices().devices()[0].ordinal, 2);
  EXPECT_EQ(
      gpus.log().count(LogLevel::kWarning,
                       "GPU 0 is not used: gpu 0 has compute capability '5.2' which is less than the minimum "
                       "supported of '6.0'"),
      1u);
  EXPECT_EQ(gpus.log().count(LogLevel::kWarning, "GPU 1 is not used: its compute mode is prohibited"), 1u);
  EXPECT_EQ(gpus.devices().ensure_current(0).message(), "there is no GPU 0 that is used");
}

TEST(Devices, OnlyThoseChosenAreUsed) {
  Gpus gpus({.devices = 3, .choice = {.ordinals = std::vector<int32_t>{1, 7}}});
  ASSERT_EQ(gpus.devices().devices().size(), 1u);
  EXPECT_EQ(gpus.devices().devices()[0].ordinal, 1);
  EXPECT_EQ(gpus.log().count(LogLevel::kWarning, "GPU 7 is not used: there are only 3 from 0 on"), 1u);
}

TEST(Devices, WithoutAnyTheReasonIsOneLine) {
  Gpus gpus({.devices = 1, .init = 100});
  EXPECT_TRUE(gpus.devices().devices().empty());
  EXPECT_EQ(gpus.devices().absence().code(), Code::kUnavailable);
  EXPECT_EQ(gpus.log().records().size(), 1u);
  EXPECT_EQ(
      gpus.log().records()[0].message,
      "no GPU is used: the CUDA driver cannot be used: cuInit gave CUDA_ERROR_NO_DEVICE (100): it finds no GPU");
  EXPECT_EQ(gpus.devices().ensure_current(0).code(), Code::kInvalidArgument);
}

TEST(Devices, OneThatIsTakenIsLostAtItsFirstUse) {
  Gpus gpus({.devices = 1, .compute_mode = "3", .taken = "1"});
  ASSERT_EQ(gpus.devices().devices().size(), 1u);
  const Status status = gpus.devices().ensure_current(0);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(),
            "GPU 0 is lost: cuDevicePrimaryCtxRetain gave CUDA_ERROR_DEVICE_UNAVAILABLE (46)");
}

TEST(Devices, FailuresAreClassified) {
  Gpus gpus;
  Devices& devices = gpus.devices();
  EXPECT_TRUE(devices.report(0, "cuMemAlloc", CudaResult::SUCCESS).ok());
  EXPECT_EQ(devices.report(0, "cuMemAlloc", CudaResult::OUT_OF_MEMORY).code(), Code::kResourceExhausted);
  EXPECT_EQ(devices.report(0, "cuLaunchKernel", CudaResult::INVALID_VALUE).code(), Code::kInternal);
  EXPECT_EQ(devices.report(0, "cuStreamEndCapture", CudaResult::STREAM_CAPTURE_INVALIDATED).message(),
            "GPU 0: cuStreamEndCapture gave CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
  EXPECT_EQ(devices.report(0, "cuInit", CudaResult::SYSTEM_NOT_READY).code(), Code::kUnavailable);
  EXPECT_TRUE(devices.lost(0).ok());
}

TEST(Devices, AStickyCodeLosesOneDeviceForGood) {
  Gpus gpus({.devices = 2});
  Devices& devices = gpus.devices();
  ASSERT_TRUE(devices.ensure_current(0).ok() && devices.ensure_current(1).ok());
  gpus.do_not_check();
  const Status first = devices.report(0, "cuStreamSynchronize", CudaResult::ILLEGAL_ADDRESS);
  EXPECT_EQ(first.code(), Code::kUnavailable);
  EXPECT_EQ(first.message(), "GPU 0 is lost: cuStreamSynchronize gave CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_EQ(devices.report(0, "cuMemAlloc", CudaResult::LAUNCH_FAILED).message(), first.message())
      << "the first one";
  EXPECT_EQ(gpus.log().count(LogLevel::kError), 1u);
  const uint64_t calls = gpus.driver().calls("*");
  EXPECT_EQ(devices.ensure_current(0).message(), first.message());
  EXPECT_FALSE(devices.acquire_stream(0).ok());
  EXPECT_FALSE(devices.call<&CudaDriver::cuMemFree>(0, CudaAddress{64}).ok());
  EXPECT_EQ(gpus.driver().calls("*"), calls) << "no call for a lost device";
  EXPECT_TRUE(devices.ensure_current(1).ok());
}

TEST(Devices, StreamsAndEventsAreUsedAgain) {
  Gpus gpus;
  Devices& devices = gpus.devices();
  const auto stream = devices.acquire_stream(0);
  const auto event = devices.acquire_event(0);
  ASSERT_TRUE(stream.ok() && event.ok());
  devices.release_stream(0, stream.value());
  devices.release_event(0, event.value());
  EXPECT_EQ(devices.acquire_stream(0).value(), stream.value());
  EXPECT_EQ(devices.acquire_event(0).value(), event.value());
  devices.release_stream(0, stream.value());
  devices.release_event(0, event.value());
}

TEST(Devices, ATaskRunsWhenItsEventIsReached) {
  Gpus gpus;
  Devices& devices = gpus.devices();
  const CudaStream stream = devices.acquire_stream(0).value();
  const CudaEvent event = devices.acquire_event(0).value();
  gpus.driver().set_stepped(true);
  ASSERT_TRUE(devices.call<&CudaDriver::cuEventRecord>(0, event, stream).ok());
  Outcome outcome;
  auto future = outcome.promise.get_future();
  ASSERT_TRUE(devices.post_when_done(0, event, outcome.done()).ok());
  EXPECT_EQ(future.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  gpus.driver().step();
  EXPECT_TRUE(future.get().ok());
  gpus.driver().set_stepped(false);
  devices.release_event(0, event);
  devices.release_stream(0, stream);
}

TEST(Devices, TasksOfALostDeviceSaySo) {
  Gpus gpus;
  Devices& devices = gpus.devices();
  const CudaEvent event = devices.acquire_event(0).value();
  gpus.lose(0);
  Outcome outcome;
  auto future = outcome.promise.get_future();
  ASSERT_TRUE(devices.post_when_done(0, event, outcome.done()).ok());
  EXPECT_EQ(future.get().code(), Code::kUnavailable);
  Outcome never;
  EXPECT_EQ(devices.post_when_done(5, event, never.done()).code(), Code::kInvalidArgument);
}

TEST(Devices, TasksThatAreLeftAtTheEndSaySo) {
  Gpus gpus;  // sets up the driver
  test::FakeHost host("cuda");
  Devices devices(host);
  devices.open(open_driver(Gpus::kPath), {});
  const CudaEvent event = devices.acquire_event(0).value();
  Outcome outcome;
  auto future = outcome.promise.get_future();
  ASSERT_TRUE(devices.post_when_done(0, event, outcome.done()).ok());  // the simulation does not run
  devices.release_event(0, event);
  devices.close();
  EXPECT_EQ(future.get().message(), "GPU 0 is no longer used: memory/cuda ends");
}

}  // namespace
}  // namespace atl::memory
