/// Many threads load, execute, replace and unload models of foreign backends, and leave calls behind.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/sanitized.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/triton/testing/triton_bench.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;

constexpr int kBackends = 10;
constexpr int kThreads = 4;
constexpr int kRounds = test::kSanitized ? 150 : 300;

using Random = std::minstd_rand;

class TritonTorture : public testing::Test {
 protected:
  ~TritonTorture() override { parts_.reset(); }

  static std::string name_of(uint32_t backend) { return cat("b", backend); }
  /// The even ones answer at once, the odd ones on threads of their own.
  static bool is_repeat(uint32_t backend) { return backend % 2 == 1; }

  /// In the place of what is there.
  void put(uint32_t backend) {
    const std::string example = is_repeat(backend) ? "repeat" : "identity", name = name_of(backend);
    fs::create_directories(folder_.path() / name);
    const fs::path fresh = folder_.path() / name / "new";
    fs::copy_file(cat(ATOLL_EXAMPLE_BACKENDS, "/", example, "/libtriton_", example, ".so"), fresh);
    fs::rename(fresh, folder_.path() / name / cat("libtriton_", name, ".so"));
  }

  std::unique_ptr<BackendInstance> instance_of(BackendModel& model, test::RecordingReporter& reporter,
                                               int number) {
    InstanceSpec spec;
    spec.name = cat("i_", number);
    spec.reporter = &reporter;
    auto made = model.create_instance(spec);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made).value();
  }

  /// Executes a batch, cancels one of its requests and looks at the answers.
  void ask(BackendInstance& instance, uint32_t backend, Random& random) {
    std::vector<std::unique_ptr<test::TestRequest>> requests;
    std::vector<Request*> batch;
    const auto value = static_cast<int32_t>(random());
    for (int32_t i = 0; i < 3; ++i) {
      auto& request = *requests.emplace_back(std::make_unique<test::TestRequest>());
      if (is_repeat(backend)) {
        request.add_input("IN", DataType::kInt32, {2}, std::vector<int32_t>{value, i});
        request.add_input("DELAY_MS", DataType::kInt32, {1}, std::vector<int32_t>{0});
        request.add_output("OUT");
      } else {
        request.add_input("INPUT0", DataType::kInt32, {2}, std::vector<int32_t>{value, i});
        request.add_output("OUTPUT0");
      }
      request.mark_accepted();
      batch.push_back(&request.request());
    }
    EXPECT_TRUE(instance.execute({batch, static_cast<uint32_t>(batch.size()), 0}).ok());
    for (int32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(requests[i]->wait_done());
      for (const std::string& problem : requests[i]->problems()) ADD_FAILURE() << problem;
      const test::ReceivedResponse first = requests[i]->responses().front();
      ASSERT_EQ(first.code, Code::kOk) << first.message;
      const std::string bytes = first.outputs.at(0).bytes;
      const std::vector<int32_t> right =
          is_repeat(backend) ? std::vector<int32_t>{value} : std::vector<int32_t>{value, i};
      EXPECT_EQ(bytes, test::bytes_of(right));
    }
  }

  void load_and_ask(uint32_t seed) {
    Random random(seed);
    for (int round = 0; round < kRounds; ++round) {
      const uint32_t backend = random() % kBackends;
      auto model = parts_->backend.load(source_of(cat("m", seed, "_", round), name_of(backend)));
      ASSERT_TRUE(model.ok()) << model.status().text();
      test::RecordingReporter reporter;
      auto one = instance_of(**model, reporter, 0), two = instance_of(**model, reporter, 1);
      if (random() % 2 == 0) model->reset();  // the instances keep it
      std::thread beside([&] { ask(*one, backend, random); });
      Random other(seed + 1);
      ask(*two, backend, other);
      beside.join();
      if (random() % 2 == 0) one.reset();
    }
  }

  test::TemporaryDirectory folder_;
  test::RecordingLog log_;
  std::unique_ptr<TritonParts> parts_ =
      std::make_unique<TritonParts>(log_, TritonOptions{{folder_.path().string()}, {}, true},
                                    600 * kNsPerSecond, test::FakeHost::Threads::kReal);
};

TEST_F(TritonTorture, ModelsComeAndGoWhileFilesAreReplaced) {
  for (uint32_t i = 0; i < kBackends; ++i) put(i);
  std::atomic<bool> is_over = false;
  std::thread replacer([&] {
    Random random(7);
    for (int i = 0; i < kRounds / 5 && !is_over; ++i) put(random() % kBackends);
  });
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { load_and_ask(i); });
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  replacer.join();
  EXPECT_EQ(log_.count(LogLevel::kError), 0u);
  EXPECT_EQ(log_.count(LogLevel::kWarning), 0u);
}

TEST_F(TritonTorture, CallsReturnWhileTheyAreLeftBehind) {
  test::FakeHost host("calls", test::FakeHost::Threads::kReal);
  auto around = std::make_shared<ForeignContext>(log_, nullptr);
  auto left = std::make_shared<LeftCalls>();
  std::atomic<int> alive = 0, returned = 0, refused = 0;
  struct Owned {
    explicit Owned(std::atomic<int>& count) : alive(count) { ++alive; }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { --alive; }
    std::atomic<int>& alive;
  };
  {
    LoadCalls calls(host.clock(), host.executors(), kNsPerMs);
    ASSERT_TRUE(calls.open().ok());
    std::vector<std::thread> threads;
    for (uint32_t seed = 0; seed < kThreads; ++seed) {
      threads.emplace_back([&, seed] {
        Random random(seed);
        for (int i = 0; i < kRounds; ++i) {
          const std::chrono::microseconds takes(random() % 2000);
          Status status = calls.run({"b", "TRITONBACKEND_Some", left, around},
                                    [takes, owned = std::make_shared<Owned>(alive)]() -> Status {
                                      std::this_thread::sleep_for(takes);
                                      return {};
                                    });
          ++(status.ok() ? returned : refused);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  while (left->inside != 0) std::this_thread::yield();
  around->log.give_back();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(returned + refused, kThreads * kRounds);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace atl::triton
