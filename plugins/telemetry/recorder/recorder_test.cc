/// The recorder through its descriptor, on a simulated host.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/options_follower.h"
#include "atoll/lib/recording_reader.h"
#include "atoll/request/request_marks.h"
#include "atoll/request/request_observer.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/request_observer.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::recorder {
namespace {

using recording::v1::Entry;
using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

test::FakeServedModel& served(const std::string& name = "m") {
  static std::map<std::string, std::unique_ptr<test::FakeServedModel>> models;
  auto& model = models[name];
  if (model == nullptr) {
    ModelInfo info;
    info.name = name;
    info.version = 3;
    model = std::make_unique<test::FakeServedModel>(std::move(info));
  }
  return *model;
}

std::vector<Entry> entries_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  RecordingReader reader(source_of(file));
  EXPECT_EQ(reader.begin().text(), "OK");
  std::vector<Entry> entries;
  for (Entry entry; reader.next(&entry);) entries.push_back(entry);
  EXPECT_EQ(reader.ending(), RecordingReader::Ending::kWhole);
  return entries;
}

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() { plugin_.set("recording_file", file()); }
  void start() { ASSERT_EQ(plugin_.create_and_start().text(), "OK"); }
  std::string file() const { return (folder_.path() / "traffic").string(); }
  RequestObserver& observer() { return *plugin_.query<RequestObserver>(); }
  std::map<std::string, double> metrics() {
    return test::RecordedMetrics(*plugin_.query<MetricSource>()).values();
  }

  /// From its beginning to its end, with one response that has so many bytes. \returns whether it was observed
  bool observe(TestRequest& request, size_t bytes = 4, const std::string& model = "m") {
    request->model = &served(model);
    RequestObservation* const observation = observer().begin(*request);
    if (observation == nullptr) return false;
    Response response;
    std::string data(bytes, 'o');
    OutputTensor& output =
        response.add_output("y", DataType::kUint8, std::vector<int64_t>{static_cast<int64_t>(bytes)});
    output.buffer.data = data.data();
    output.buffer.size_bytes = bytes;
    observation->on_response(*request, &response, kFinal);
    observation->ended(*request, {});
    return true;
  }
  std::vector<Entry> stopped() {
    plugin_.stop();
    return entries_of(file());
  }
  /// Numbers of requests, responses and ends.
  static std::vector<size_t> kinds(const std::vector<Entry>& entries) {
    std::vector<size_t> counts(3);
    for (const Entry& entry : entries) {
      counts[0] += entry.has_request();
      counts[1] += entry.has_response();
      counts[2] += entry.has_end();
    }
    return counts;
  }

  test::TemporaryDirectory folder_;
  test::FakeHost host_{"recorder"};
  test::PluginRunner plugin_{host_};
};

TEST_F(RecorderTest, KeepsWhatTheClientHasSent) {
  start();
  host_.fake_clock().advance(5 * kNsPerMs);
  TestRequest request("r");
  request->sequence.text = "caf\xC3\xA9";
  request->sequence_flags = kSequenceStart;
  request->priority = 2;
  request->timeout_us = 7;
  request->tenant = "secret-tenant";
  request->caller = "secret-caller";
  request->times.deadline_ns = host_.clock().now_ns() + 9;
  mark_stream(*request, 77);
  request.add_raw_input("x", DataType::kFp32, {1, 2}, "abcdefgh", {3});
  request.add_output("y").classification = 4;
  Parameter& mood = request->add_parameter();
  mood.key = "mood";
  mood.text = "good";
  Parameter& count = request->add_parameter();
  count.key = "count";
  count.type = ParameterType::kInt;
  count.int_value = -3;
  Parameter& header = request->add_parameter();
  header.key = "authorization";
  header.text = "secret-token";
  mark_forwarded_header(header);
  ASSERT_TRUE(observe(request));
  const std::vector<Entry> entries = stopped();
  ASSERT_THAT(kinds(entries), ElementsAre(1, 1, 1));
  const recording::v1::Request& kept = entries[0].request();
  EXPECT_EQ(kept.ShortDebugString().find("secret"), std::string::npos);
  EXPECT_EQ(kept.model(), "m");
  EXPECT_EQ(kept.version(), 3);
  EXPECT_EQ(kept.id(), "r");
  EXPECT_EQ(kept.arrival_ns(), 5 * kNsPerMs);
  EXPECT_EQ(kept.deadline_ns(), 9);
  EXPECT_EQ(kept.priority(), 2U);
  EXPECT_EQ(kept.timeout_us(), 7U);
  EXPECT_EQ(kept.stream(), 77U);
  EXPECT_EQ(kept.sequence().text(), "caf\xC3\xA9");
  EXPECT_TRUE(kept.sequence().start() && !kept.sequence().end());
  ASSERT_EQ(kept.parameters_size(), 2);
  EXPECT_EQ(kept.parameters(0).text(), "good");
  EXPECT_EQ(kept.parameters(1).number(), -3);
  ASSERT_EQ(kept.inputs_size(), 1);
  EXPECT_EQ(kept.inputs(0).data(), "abcdefgh") << "in one piece";
  EXPECT_EQ(kept.inputs(0).datatype(), "FP32");
  EXPECT_EQ(kept.outputs(0).classification(), 4U);
  EXPECT_EQ(entries[1].response().outputs(0).data(), "oooo");
  EXPECT_EQ(entries[2].end().responses(), 1U);
  std::ifstream stream(file(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(bytes.find("secret"), std::string::npos);
  EXPECT_EQ(bytes.find("authorization"), std::string::npos);
}

TEST_F(RecorderTest, FailuresRefusalsAndCancellationsAreKept) {
  start();
  TestRequest failed, refused;
  failed->model = refused->model = &served();
  RequestObservation* observation = observer().begin(*failed);
  Response response;
  response.error = Status(Code::kInternal, "broken");
  observation->on_response(*failed, &response, 0);
  observation->on_response(*failed, nullptr, kFinal);
  failed->cancellation.cancel();
  observation->ended(*failed, {});
  observer().begin(*refused)->ended(*refused, Status(Code::kUnavailable, "full"));
  const std::vector<Entry> entries = stopped();
  ASSERT_THAT(kinds(entries), ElementsAre(2, 1, 2));
  EXPECT_EQ(entries[1].response().code(), 13U);
  EXPECT_EQ(entries[1].response().message(), "broken");
  EXPECT_TRUE(entries[2].end().cancelled());
  EXPECT_EQ(entries[2].end().responses(), 1U) << "the empty one is none";
  EXPECT_EQ(entries[4].end().code(), 14U);
  EXPECT_EQ(entries[4].end().message(), "full");
}

TEST_F(RecorderTest, WhatWasNotAskedForIsNotKept) {
  start();
  TestRequest request;
  request.add_output("z");
  ASSERT_TRUE(observe(request));
  EXPECT_EQ(stopped()[1].response().outputs_size(), 0);
}

TEST_F(RecorderTest, AFileIsForItsUserAlone) {
  const mode_t before = ::umask(0);
  { std::ofstream(file()) << "older"; }
  ::chmod(file().c_str(), 0644);
  start();
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_THAT(stopped(), IsEmpty());
  std::string kept;
  std::ifstream(file() + ".1") >> kept;
  EXPECT_EQ(kept, "older");
}

TEST_F(RecorderTest, ALinkIsNotWrittenThrough) {
  const std::string other = (folder_.path() / "other").string();
  { std::ofstream(other) << "mine"; }
  ASSERT_EQ(::symlink(other.c_str(), file().c_str()), 0);
  plugin_.set("max_files", "1");
  start();
  TestRequest request;
  ASSERT_TRUE(observe(request));
  EXPECT_THAT(kinds(stopped()), ElementsAre(1, 1, 1));
  std::string kept;
  std::ifstream(other) >> kept;
  EXPECT_EQ(kept, "mine");
}

TEST_F(RecorderTest, ModelsAndTenantsAreChosen) {
  plugin_.set("models", R"(["m", "n"])").set("tenants", R"(["red"])");
  start();
  TestRequest red, other_model, blue, none;
  red->tenant = other_model->tenant = "red";
  blue->tenant = "blue";
  EXPECT_TRUE(observe(red, 1, "n"));
  EXPECT_FALSE(observe(other_model, 1, "o"));
  EXPECT_FALSE(observe(blue));
  EXPECT_FALSE(observe(none));
}

TEST_F(RecorderTest, ASampleTakesSequencesAndStreamsWhole) {
  plugin_.set("sample", "0.5");
  start();
  int alone = 0, sequences = 0, streams = 0;
  constexpr int kCount = 2000;
  for (int i = 1; i <= kCount; ++i) {
    TestRequest request;
    alone += observe(request);
    int steps = 0, messages = 0;
    for (int step = 0; step < 3; ++step) {
      TestRequest of_sequence, of_stream;
      of_sequence->sequence.number = static_cast<uint64_t>(i);
      mark_stream(*of_stream, static_cast<uint32_t>(i));
      steps += observe(of_sequence);
      messages += observe(of_stream);
    }
    EXPECT_TRUE(steps == 0 || steps == 3);
    EXPECT_TRUE(messages == 0 || messages == 3);
    sequences += steps / 3;
    streams += messages / 3;
    host_.run_ready();
  }
  for (int count : {alone, sequences, streams}) EXPECT_NEAR(count, kCount / 2, kCount / 10);
}

TEST_F(RecorderTest, WhatCannotWaitIsCountedAndTold) {
  plugin_.set("max_pending_size", "64KiB");
  start();
  TestRequest first, second, third;
  EXPECT_TRUE(observe(first, 60'000));
  EXPECT_TRUE(observe(second, 60'000)) << "its response does not fit";
  third.add_raw_input("x", DataType::kUint8, {60'000}, std::string(60'000, 'x'));
  EXPECT_FALSE(observe(third));
  host_.run_ready();
  TestRequest later;
  EXPECT_TRUE(observe(later, 60'000));
  const auto values = metrics();
  EXPECT_EQ(values.at("atoll_recording_lost_requests_total"), 1);
  EXPECT_EQ(values.at("atoll_recording_lost_responses_total"), 1);
  const std::vector<Entry> entries = stopped();
  EXPECT_THAT(kinds(entries), ElementsAre(3, 2, 3));
  uint64_t lost_requests = 0, lost_responses = 0, ends_with_losses = 0;
  for (const Entry& entry : entries) {
    lost_requests += entry.lost().requests();
    lost_responses += entry.lost().responses();
    ends_with_losses += entry.end().responses_lost();
  }
  EXPECT_EQ(lost_requests, 1U);
  EXPECT_EQ(lost_responses, 1U);
  EXPECT_EQ(ends_with_losses, 1U);
}

TEST_F(RecorderTest, OneFullFileEndsTheRecording) {
  plugin_.set("max_bytes", "4KiB").set("max_files", "1");
  start();
  for (int i = 0; i < 4; ++i) {
    TestRequest request;
    (void)observe(request, 1500);
    host_.run_ready();
  }
  TestRequest later;
  EXPECT_FALSE(observe(later));
  EXPECT_EQ(metrics().at("atoll_recording_active"), 0);
  EXPECT_EQ(host_.log().count(LogLevel::kError, "the recording ends, the server goes on"), 1U);
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_LE(info.st_size, 4096);
  EXPECT_THAT(kinds(stopped()), ElementsAre(3, 2, 2));
}

TEST_F(RecorderTest, OptionsAreFollowedAndAnotherFileIsNot) {
  start();
  auto& follower = *plugin_.query<OptionsFollower>();
  TestRequest before, under_way, after;
  EXPECT_TRUE(observe(before));
  under_way->model = &served();
  RequestObservation* const observation = observer().begin(*under_way);
  test::FakeOptions next = host_.options();
  next.set_float("sample", 0);
  EXPECT_TRUE(follower.can_follow(next));
  follower.follow(next);
  EXPECT_FALSE(observe(after));
  observation->ended(*under_way, {});
  next.set_string("recording_file", file() + "-other");
  EXPECT_FALSE(follower.can_follow(next));
  EXPECT_THAT(kinds(stopped()), ElementsAre(2, 1, 2));
}

TEST_F(RecorderTest, WithoutAFileNothingIsObserved) {
  plugin_.set("recording_file", "");
  start();
  EXPECT_FALSE(observer().active());
  EXPECT_THAT(metrics(), IsEmpty());
}

TEST_F(RecorderTest, AFolderThatIsMissingIsTold) {
  plugin_.set("recording_file", file() + "/missing");
  EXPECT_THAT(plugin_.create_and_start().text(), HasSubstr("cannot be opened: No such file or directory"));
}

}  // namespace
}  // namespace atl::recorder

namespace atl::test {
namespace {

/// A recorder that records everything, with its writer on a real thread.
class StartedRecorder final : public MetricSourceUnderTest {
 public:
  StartedRecorder() {
    EXPECT_TRUE(
        is_ok(plugin_.set("recording_file", (folder_.path() / "traffic").string()).create_and_start()));
  }
  virtual ~StartedRecorder() { plugin_.stop(); }
  RequestObserver& observer() { return *plugin_.query<RequestObserver>(); }
  MetricSource& source() override { return *plugin_.query<MetricSource>(); }
  void use() override {
    TestRequest request;
    request->model = &recorder::served();
    RequestObservation* const observation = observer().begin(*request);
    ASSERT_NE(observation, nullptr);
    observation->ended(*request, {});
    // The writer counts it; the test's limit of time bounds this.
    const auto count = [&] { return RecordedMetrics(source()).values().at("atoll_recorded_requests_total"); };
    for (++uses_; count() < uses_;) std::this_thread::yield();
  }

 private:
  double uses_ = 0;
  TemporaryDirectory folder_;
  FakeHost host_{"recorder", FakeHost::Threads::kReal};
  PluginRunner plugin_{host_};
};

RequestObserverProvider observing() {
  RequestObserverProvider provider;
  provider.name = "recorder";
  provider.model = &recorder::served();
  provider.make = [] {
    auto made = std::make_shared<StartedRecorder>();
    return std::shared_ptr<RequestObserver>(made, &made->observer());
  };
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Recorder, RequestObserverConformance, ::testing::Values(observing()));
INSTANTIATE_TEST_SUITE_P(Recorder, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "recorder", [] { return std::make_shared<StartedRecorder>(); }, {}}));

}  // namespace
}  // namespace atl::test
