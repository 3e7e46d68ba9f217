// Several batches at once, and ends of all kinds while they are under way.
#include <atomic>
#include <thread>

#include "atoll/testing/random.h"
#include "backends/cuda/testing/device_sink.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

class Listener final : public RoomListener {
 public:
  void on_room() noexcept override { ++told; }
  std::atomic<uint32_t> told{0};
};

/// Streams run only when a test says so.
class InFlightTest : public ::testing::Test {
 protected:
  void load(const char* more = "") {
    const Status loaded = bench.load(files.add("scale", cat(kScaleConfig, more), kScalePipeline));
    ASSERT_TRUE(loaded.ok()) << loaded.text();
    bench.driver().set_stepped(true);
  }
  ~InFlightTest() override { bench.driver().set_stepped(false); }
  /// Until it has been answered.
  void step_until_done(const TestRequest& request) {
    while (!request.done()) {
      if (!bench.driver().step()) std::this_thread::yield();
    }
  }

  ModelFiles files;
  GpuBench bench;
};

TEST_F(InFlightTest, TwoBatchesAreUnderWayAndTheInstanceSaysSo) {
  load();
  Listener listener;
  ASSERT_TRUE(bench.instance->add_room_listener(listener));
  TestRequest one("one"), two("two");
  fill_scale(one, 1);
  fill_scale(two, 2);
  EXPECT_GT(bench.instance->room(), 0u);
  ASSERT_TRUE(bench.execute({&one}).ok());
  EXPECT_GT(bench.instance->room(), 0u);
  ASSERT_TRUE(bench.execute({&two}).ok());
  EXPECT_EQ(bench.instance->room(), 0u);
  EXPECT_FALSE(one.got_final() || two.got_final());
  EXPECT_EQ(listener.told, 0u);
  step_until_done(one);
  EXPECT_GE(listener.told, 1u);
  EXPECT_GT(bench.instance->room(), 0u);
  step_until_done(two);
  EXPECT_EQ(listener.told, 2u);
  bench.instance->remove_room_listener(listener);
  EXPECT_EQ(floats_of(one.response()), scaled(1));
  EXPECT_EQ(floats_of(two.response()), scaled(2));
}

TEST_F(InFlightTest, AThirdBatchWaits) {
  load();
  TestRequest requests[3];
  for (TestRequest& request : requests) fill_scale(request, 1);
  ASSERT_TRUE(bench.execute({&requests[0]}).ok());
  ASSERT_TRUE(bench.execute({&requests[1]}).ok());
  std::thread stepper([&] {
    for (TestRequest& request : requests) step_until_done(request);
  });
  EXPECT_TRUE(bench.execute({&requests[2]}).ok());
  stepper.join();
  EXPECT_EQ(bench.reporter.all().succeeded, 3u);
}

/// The streams of the double are stepped in the order in which they were made: kernels come first where nothing says else.
TEST_F(InFlightTest, WhatIsRunOneAfterTheOtherIsReadBeforeItIsWrittenAgain) {
  const std::string config = R"(max_batch_size: 8 optimization { cuda { output_copy_stream: true } }
    input { name: 'INPUT0' data_type: TYPE_UINT8 dims: -1 } output { name: 'OUTPUT0' data_type: TYPE_UINT8 dims: -1 })";
  const std::string pipeline = R"(
[output.OUTPUT0]
shape = ["B", "INPUT0.shape[1]"]
[[step]]
copy = "in:INPUT0"
to = "out:OUTPUT0"
)";
  ASSERT_TRUE(bench.load(files.add("bytes", config, pipeline)).ok());
  const auto fill = [](TestRequest& request, const std::string& sent) {
    request->batch_size = 1;
    request.add_raw_input("INPUT0", DataType::kUint8, {1, static_cast<int64_t>(sent.size())}, sent);
    request.add_output("OUTPUT0");
  };
  TestRequest larger[2], one("one"), two("two");
  for (TestRequest& request : larger) {  // memory for what follows in both sets
    fill(request, "as long as it gets");
    ASSERT_TRUE(bench.run({&request}).ok());
  }
  bench.driver().set_stepped(true);
  fill(one, "first");
  fill(two, "and another");
  ASSERT_TRUE(bench.execute({&one, &two}).ok());
  step_until_done(one);
  step_until_done(two);
  EXPECT_EQ(one.response().find("OUTPUT0")->bytes, "first");
  EXPECT_EQ(two.response().find("OUTPUT0")->bytes, "and another");
}

TEST_F(InFlightTest, UnloadingWaitsForBatches) {
  load("optimization { eager_batching: true cuda { output_copy_stream: true } }");
  TestRequest one("one"), two("two");
  fill_scale(one, 1);
  fill_scale(two, 2);
  ASSERT_TRUE(bench.execute({&one}).ok());
  ASSERT_TRUE(bench.execute({&two}).ok());
  std::thread stepper([&] {
    step_until_done(one);
    step_until_done(two);
    bench.driver().set_stepped(false);
  });
  bench.instance.reset();
  bench.model.reset();
  EXPECT_TRUE(one.done() && two.done());
  stepper.join();
  EXPECT_EQ(floats_of(two.response()), scaled(2));
}

TEST_F(InFlightTest, ACancellationComesTooLate) {
  load();
  TestRequest request("r");
  fill_scale(request, 1);
  ASSERT_TRUE(bench.execute({&request}).ok());
  request.cancel();
  step_until_done(request);
  EXPECT_EQ(floats_of(request.response()), scaled(1));
  expect_clean(request);
}

TEST_F(InFlightTest, ALostDeviceAnswersAllThatIsUnderWay) {
  load();
  bench.gpus.do_not_check();
  TestRequest one("one"), two("two"), late("late");
  fill_scale(one, 1);
  fill_scale(two, 2);
  fill_scale(late, 3);
  ASSERT_TRUE(bench.execute({&one}).ok());
  ASSERT_TRUE(bench.execute({&two}).ok());
  bench.driver().fail_device(0, CudaResult::ECC_UNCORRECTABLE);
  ASSERT_TRUE(one.wait_done() && two.wait_done());
  EXPECT_EQ(one.response().code, Code::kUnavailable);
  EXPECT_EQ(two.response().code, Code::kUnavailable);
  EXPECT_FALSE(bench.instance->ready());
  (void)bench.run({&late}).ok();
  EXPECT_EQ(late.response().code, Code::kUnavailable);
  bench.instance.reset();  // and does not hang
  for (const TestRequest* request : {&one, &two, &late}) expect_clean(*request);
}

TEST_F(InFlightTest, TheOtherDeviceServesOn) {
  GpuBench own({.devices = 2});
  own.gpus.do_not_check();
  ASSERT_TRUE(own.load(files.add("scale", kScaleConfig, kScalePipeline), 1).ok());
  own.driver().fail_device(0, CudaResult::ILLEGAL_ADDRESS);
  (void)own.cuda.report(0, "cuStreamSynchronize", CudaResult::ILLEGAL_ADDRESS).ok();
  TestRequest request("r");
  fill_scale(request, 1);
  ASSERT_TRUE(own.run({&request}).ok());
  EXPECT_EQ(floats_of(request.response()), scaled(1));
}

/// What a schedule does is said by its seed alone; when things happen is up to the threads.
class Schedule {
 public:
  Schedule(GpuBench& bench, uint64_t seed) : bench_(bench), random_(seed) {}

  void run() {
    const uint64_t batches = 1 + random_.below(4);
    for (uint64_t i = 0; i < batches; ++i) execute_one();
    for (const auto& each : sent_) ASSERT_TRUE(each->request.wait_done());
    for (const auto& each : sent_) expect_right(*each);
  }

 private:
  struct Sent {
    explicit Sent(const std::string& id) : request(id) {}
    TestRequest request;
    std::optional<DeviceBytes> input, output;
    std::optional<DeviceSink> sink;
    float first = 0;
    uint32_t rows = 0;
    bool is_cancelled = false, is_wrong = false, has_no_memory = false;
  };

  void execute_one() {
    std::vector<TestRequest*> batch;
    uint32_t left = 4;
    while (left != 0 && (batch.empty() || random_.below(3) != 0)) {
      const auto rows = static_cast<uint32_t>(1 + random_.below(left));
      left -= rows;
      batch.push_back(&add(rows).request);
    }
    (void)bench_.execute(batch).ok();
    if (random_.below(8) == 0) {
      sent_.back()->is_cancelled = true;
      sent_.back()->request.cancel();
    }
  }

  Sent& add(uint32_t rows) {
    Sent& made = *sent_.emplace_back(std::make_unique<Sent>(cat("r", sent_.size())));
    made.first = static_cast<float>(random_.below(1000));
    made.rows = rows;
    TestRequest& request = made.request;
    fill_scale(request, made.first, rows);
    InputTensor& input = request->inputs[0];
    const std::string bytes(static_cast<const char*>(input.buffers[0].data), input.size_bytes);
    switch (random_.below(8)) {
      case 0:
        made.is_cancelled = true;
        request.cancel();
        break;
      case 1:
        made.is_wrong = true;
        input.datatype = DataType::kInt32;
        break;
      case 2:
        made.has_no_memory = true;
        request.fail_allocations(Code::kResourceExhausted, "none");
        break;
      case 3: {
        const uint64_t cut = random_.below(bytes.size());
        made.input.emplace(bench_.memory, bytes);
        Buffer rest = input.buffers[0];
        rest.data = static_cast<char*>(rest.data) + cut;
        rest.size_bytes -= cut;
        set_buffers(request, input, {made.input->part(0, cut), rest});
        break;
      }
      case 4:
        made.input.emplace(bench_.memory, bytes);
        set_buffers(request, input, {made.input->buffer()});
        [[fallthrough]];
      case 5:
        made.sink.emplace(request, bench_.memory);
        made.output.emplace(bench_.memory, bytes);
        request->outputs[0].placement = made.output->buffer();
        break;
      case 6:
        made.sink.emplace(request, bench_.memory);
        request->call_flags |= kIsStep;
        break;
      default:
        break;
    }
    return made;
  }

  static void expect_right(const Sent& sent) {
    const auto responses = sent.request.responses();
    ASSERT_EQ(responses.size(), 1u);
    EXPECT_TRUE(responses[0].final());
    expect_clean(sent.request);
    if (responses[0].code == Code::kOk) {
      EXPECT_FALSE(sent.is_wrong || sent.has_no_memory);
      EXPECT_EQ(floats_of(responses[0]), scaled(sent.first, sent.rows));
    } else {
      EXPECT_TRUE(sent.is_wrong || sent.has_no_memory || sent.is_cancelled) << responses[0].message;
    }
  }

  GpuBench& bench_;
  Random random_;
  std::vector<std::unique_ptr<Sent>> sent_;
};

TEST(Schedules, EachRequestHasOneAnswer) {
  ModelFiles files;
  uint64_t seed = 0;
  for (const char* more :
       {"", "optimization { cuda { graphs: true } }", "optimization { eager_batching: true }",
        "optimization { eager_batching: true cuda { output_copy_stream: true graphs: true } }"}) {
    SCOPED_TRACE(more);
    GpuBench bench;
    ASSERT_TRUE(bench.load(files.add("scale", cat(kScaleConfig, more), kScalePipeline)).ok());
    for (int i = 0; i < 250 && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(::testing::Message() << "seed " << ++seed);
      Schedule(bench, seed).run();
    }
  }
}

}  // namespace
}  // namespace atl::cuda_backend
