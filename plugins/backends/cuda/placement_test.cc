// Where inputs come from and outputs go to.
#include "backends/cuda/testing/device_sink.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

/// A point that another library knows, or an event of the driver's.
class TestEvent final : public DeviceEvent {
 public:
  explicit TestEvent(CudaEvent event = nullptr, Status outcome = {})
      : event_(event), outcome_(std::move(outcome)) {}
  bool is_reached() noexcept override { return true; }
  Status wait() noexcept override {
    ++waits;
    return outcome_.clone();
  }
  void* native_handle() noexcept override { return event_; }
  uint32_t waits = 0;

 private:
  CudaEvent event_;
  Status outcome_;
};

class PlacementTest : public ::testing::Test {
 protected:
  void load(const char* more = "") {
    const Status loaded = bench.load(files.add("scale", cat(kScaleConfig, more), kScalePipeline));
    ASSERT_TRUE(loaded.ok()) << loaded.text();
  }
  static std::string row(float first) { return bytes_of<float>({first, first + 1, first + 2, first + 3}); }

  ModelFiles files;
  GpuBench bench{{.devices = 2}};
};

TEST_F(PlacementTest, MemoryOfTheDeviceIsUsedInPlace) {
  load();
  const DeviceBytes from(bench.memory, row(1)), to(bench.memory, std::string(16, '\0'));
  TestRequest request("r");
  DeviceSink sink(request, bench.memory);
  fill_scale(request, 0);
  set_buffers(request, request->inputs[0], {from.buffer()});
  request->outputs[0].placement = to.buffer();
  const uint64_t copies = bench.driver().calls("cuMemcpyAsync");
  const uint64_t fetched = 1;  // by the sink of the test
  ASSERT_TRUE(bench.run({&request}).ok());
  EXPECT_EQ(bench.driver().calls("cuMemcpyAsync"), copies + fetched);
  EXPECT_EQ(floats_of(request.response()), scaled(1)) << request.response().message;
  EXPECT_EQ(sink.on_device(), 1u);
}

TEST_F(PlacementTest, StepsOfAnEnsembleGetMemoryOfTheDevice) {
  load();
  TestRequest request("r");
  DeviceSink sink(request, bench.memory);
  fill_scale(request, 1);
  request->call_flags |= kIsStep;
  ASSERT_TRUE(bench.run({&request}).ok());
  EXPECT_EQ(sink.on_device(), 1u);
  EXPECT_EQ(floats_of(request.response()), scaled(1));
}

TEST_F(PlacementTest, AnotherKindThanWasPreferredWillDo) {
  load();
  TestRequest request("r");
  DeviceSink sink(request, bench.memory, MemoryKind::kCpu);
  fill_scale(request, 1);
  request->call_flags |= kIsStep;
  ASSERT_TRUE(bench.run({&request}).ok());
  EXPECT_EQ(sink.on_device(), 0u);
  EXPECT_EQ(floats_of(request.response()), scaled(1));
}

TEST_F(PlacementTest, OtherDevicesAreReached) {
  load();
  const DeviceBytes from(bench.memory, row(1), 1), to(bench.memory, std::string(16, '\0'), 1);
  TestRequest request("r");
  DeviceSink sink(request, bench.memory);
  fill_scale(request, 0);
  set_buffers(request, request->inputs[0], {from.buffer()});
  request->outputs[0].placement = to.buffer();
  ASSERT_TRUE(bench.run({&request}).ok());
  EXPECT_EQ(floats_of(request.response()), scaled(1)) << request.response().message;
  EXPECT_EQ(to.read(), bytes_of(scaled(1)));
  EXPECT_EQ(bench.driver().calls("cuMemcpyPeerAsync"), 2u);
}

TEST_F(PlacementTest, ATensorMayBeInPiecesOfAllKinds) {
  load();
  const std::string bytes = row(1);
  const DeviceBytes near(bench.memory, bytes), far(bench.memory, bytes, 1);
  auto pinned = bench.pinned.allocate(16, 0);
  ASSERT_TRUE(pinned.ok());
  std::memcpy(pinned->data, bytes.data(), 16);
  Buffer pinned_part = *pinned;
  pinned_part.data = static_cast<char*>(pinned_part.data) + 7;
  pinned_part.size_bytes = 2;
  std::string host = bytes;
  Buffer nothing, host_part = bytes_in(host);
  host_part.data = host.data() + 9;
  host_part.size_bytes = 7;
  TestRequest whole("whole"), cut("cut");
  fill_scale(whole, 10);
  fill_scale(cut, 0);
  set_buffers(cut, cut->inputs[0], {near.part(0, 3), nothing, far.part(3, 4), pinned_part, host_part});
  ASSERT_TRUE(bench.run({&whole, &cut}).ok());
  EXPECT_EQ(floats_of(cut.response()), scaled(1)) << cut.response().message;
  EXPECT_EQ(floats_of(whole.response()), scaled(10));
  bench.pinned.free(*pinned);
}

TEST_F(PlacementTest, AnOutputOverItsInputIsRightToo) {
  const std::string pipeline = R"(
[[step]]
memset = "out:OUTPUT0"
value = 0
[[step]]
kernel = "scale"
grid = [1]
block = [1]
args = ["in:INPUT0", "out:OUTPUT0", "u32:INPUT0.count", "f32:2"]
)";
  ASSERT_TRUE(bench.load(files.add("over", kScaleConfig, pipeline)).ok());
  const DeviceBytes both(bench.memory, row(1));
  TestRequest request("r");
  DeviceSink sink(request, bench.memory);
  fill_scale(request, 0);
  set_buffers(request, request->inputs[0], {both.buffer()});
  request->outputs[0].placement = both.buffer();
  ASSERT_TRUE(bench.run({&request}).ok());
  EXPECT_EQ(floats_of(request.response()), scaled(1));
}

TEST_F(PlacementTest, InputsAreWaitedForOnTheDevice) {
  load();
  auto event = bench.cuda.acquire_event(0);
  ASSERT_TRUE(event.ok());
  const DeviceBytes from(bench.memory, row(1));
  TestEvent known(*event), other, failed(*event, unavailable("GPU 1 is lost"));
  const auto run = [&](TestEvent& ready_after, bool joined) {
    TestRequest request("r"), second("second");
    fill_scale(request, 0);
    fill_scale(second, 5);
    Buffer buffer = from.buffer();
    buffer.ready_after = &ready_after;
    set_buffers(request, request->inputs[0], {buffer});
    std::vector<TestRequest*> requests{&request};
    if (joined) requests.push_back(&second);
    EXPECT_TRUE(bench.run(requests).ok());
    if (joined) {
      EXPECT_EQ(floats_of(second.response()), scaled(5));
    }
    if (request.response().code == Code::kOk) {
      EXPECT_EQ(floats_of(request.response()), scaled(1));
    }
    return request.response().code;
  };
  for (const bool joined : {false, true}) {
    const uint64_t waits = bench.driver().calls("cuStreamWaitEvent");
    EXPECT_EQ(run(known, joined), Code::kOk);
    EXPECT_EQ(bench.driver().calls("cuStreamWaitEvent"), waits + 1);
    EXPECT_EQ(run(other, joined), Code::kOk);
    EXPECT_EQ(bench.driver().calls("cuStreamWaitEvent"), waits + 1);
    EXPECT_EQ(run(failed, joined), Code::kUnavailable) << "what filled the input failed";
  }
  bench.cuda.release_event(0, *event);
}

TEST_F(PlacementTest, OneTransferCarriesWhatLiesTogether) {
  load();
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<TestRequest*> all;
  for (int i = 0; i < 4; ++i) {
    fill_scale(*requests.emplace_back(std::make_unique<TestRequest>(cat("r", i))), static_cast<float>(i));
    all.push_back(requests.back().get());
  }
  const uint64_t copies = bench.driver().calls("cuMemcpyAsync");
  ASSERT_TRUE(bench.run(all).ok());
  EXPECT_EQ(bench.driver().calls("cuMemcpyAsync"), copies + 2);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(floats_of(all[static_cast<size_t>(i)]->response()), scaled(static_cast<float>(i)));
  EXPECT_EQ(bench.pinned.used_bytes(), 0u) << "pinned memory is held while the batch is under way only";
}

TEST_F(PlacementTest, WithoutPinnedMemoryThereArePageableCopies) {
  for (const char* more :
       {"",
        "optimization { input_pinned_memory { enable: false } output_pinned_memory { enable: false } }"}) {
    GpuBench own({.devices = 1, .pinned_bytes = *more == '\0' ? uint64_t{0} : uint64_t{1} << 20});
    ASSERT_TRUE(own.load(files.add("scale", cat(kScaleConfig, more), kScalePipeline)).ok());
    TestRequest one("one"), two("two");
    fill_scale(one, 1);
    fill_scale(two, 2);
    ASSERT_TRUE(own.run({&one, &two}).ok());
    EXPECT_EQ(floats_of(one.response()), scaled(1));
    EXPECT_EQ(floats_of(two.response()), scaled(2));
  }
}

TEST_F(PlacementTest, StreamsOfTheirOwnChangeNothing) {
  for (
      const char* more :
      {"optimization { eager_batching: true }", "optimization { cuda { output_copy_stream: true } }",
       "optimization { priority: PRIORITY_MAX eager_batching: true cuda { output_copy_stream: true busy_wait_events: true } }"}) {
    load(more);
    for (int i = 0; i < 10; ++i) {
      TestRequest one("one"), two("two");
      const auto first = static_cast<float>(i);
      fill_scale(one, first);
      fill_scale(two, 2 * first);
      ASSERT_TRUE(bench.execute({&one}).ok());
      ASSERT_TRUE(bench.execute({&two}).ok());
      ASSERT_TRUE(one.wait_done() && two.wait_done());
      EXPECT_EQ(floats_of(one.response()), scaled(first)) << more;
      EXPECT_EQ(floats_of(two.response()), scaled(2 * first)) << more;
    }
  }
}

}  // namespace
}  // namespace atl::cuda_backend
