/// Which trace ends up in which file, and when.
#include "telemetry/trace/file_exporter.h"

#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/passing_text.h"
#include "atoll/testing/tensor_bytes.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

using Ids = std::vector<uint64_t>;

TEST_F(TraceBench, OneFileWithinASecond) {
  start();
  run(2);
  host_.run_for(kNsPerSecond - 1);
  EXPECT_FALSE(std::filesystem::exists(file()));
  host_.run_for(1);
  EXPECT_EQ(ids_in(file()), (Ids{1, 2}));
  run(1);
  stop();
  EXPECT_EQ(ids_in(file()), (Ids{1, 2, 3})) << "and the rest when it stops";
}

TEST_F(TraceBench, NoTracesNoFile) {
  start();
  stop();
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(TraceBench, NumberedFilesOfSoManyTraces) {
  config_.defaults.log_frequency = 2;
  start();
  run(1);
  host_.run_until_idle();
  EXPECT_FALSE(std::filesystem::exists(file(".0")));
  run(4);
  host_.run_until_idle();
  EXPECT_EQ(ids_in(file(".0")), (Ids{1, 2}));
  EXPECT_EQ(ids_in(file(".1")), (Ids{3, 4}));
  EXPECT_FALSE(std::filesystem::exists(file(".2")));
  stop();
  EXPECT_EQ(ids_in(file(".2")), (Ids{5}));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(TraceBench, EachModelCollectsItsOwn) {
  config_.defaults.log_frequency = 2;
  start();
  EXPECT_EQ(update("m", {{"log_frequency", {"3"}}}), "");
  run(1, "a");
  run(2, "m");
  run(1, "b");
  run(1, "m");
  host_.run_until_idle();
  EXPECT_EQ(ids_in(file(".0")), (Ids{1, 4}));
  EXPECT_EQ(ids_in(file(".1")), (Ids{2, 3, 5}));
}

TEST_F(TraceBench, ACountThatHasRunOutIsWrittenToANumberedFile) {
  config_.defaults.count = 3;
  start();
  Trace* late = begin();
  run(10);
  host_.run_for(5 * kNsPerSecond);
  EXPECT_FALSE(std::filesystem::exists(file(".0"))) << "one is still under way";
  late->release();
  host_.run_until_idle();
  EXPECT_EQ(ids_in(file(".0")), (Ids{2, 3, 1}));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(TraceBench, AnUnfinishedCountIsWrittenAtTheEnd) {
  config_.defaults.count = 3;
  start();
  run(2);
  stop();
  EXPECT_EQ(ids_in(file()), (Ids{1, 2}));
}

TEST_F(TraceBench, ChangedSettingsWriteWhatWasCollected) {
  config_.defaults.log_frequency = 100;
  start();
  run(1);
  Trace* open = begin();
  host_.run_until_idle();
  EXPECT_EQ(update("", {{"log_frequency", {"50"}}}), "");
  host_.run_until_idle();
  EXPECT_FALSE(std::filesystem::exists(file(".0"))) << "one of its traces is under way";
  open->release();
  host_.run_until_idle();
  EXPECT_EQ(ids_in(file(".0")), (Ids{1, 2}));
  run(1);
  EXPECT_EQ(update("", {{"log_frequency", {"0"}}}), "");
  host_.run_until_idle();
  EXPECT_EQ(ids_in(file(".1")), (Ids{3}));
}

TEST_F(TraceBench, AMissingFolderIsSaidOnceAndCounted) {
  config_.file = (folder_.path() / "missing" / "t.json").string();
  start();
  for (int i = 0; i < 3; ++i) {
    run(2);
    host_.run_until_idle();
  }
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "traces are dropped: trace file"), 1u);
  EXPECT_EQ(counts_.dropped.load(), 6u);
  std::filesystem::create_directory(folder_.path() / "missing");
  run(1);
  host_.run_until_idle();
  EXPECT_EQ(counts_.exported.load(), 1u);
  EXPECT_EQ(ids_in(config_.file), (Ids{7}));
  std::filesystem::remove_all(folder_.path() / "missing");
  run(1);
  host_.run_until_idle();
  EXPECT_EQ(host_.log().count(LogLevel::kWarning), 2u) << "said again after it had gone well";
}

TEST_F(TraceBench, TooManyThatWaitAreDropped) {
  config_.pending_bytes_max = 64 * 1024;
  start();
  run(10'000);
  uint64_t dropped = counts_.dropped.load();
  EXPECT_GT(dropped, 5'000u);
  EXPECT_LT(dropped, 10'000u);
  host_.run_until_idle();
  EXPECT_EQ(counts_.exported.load() + dropped, 10'000u);
  EXPECT_EQ(run(1), 1u);
  host_.run_until_idle();
  EXPECT_EQ(counts_.dropped.load(), dropped) << "there is room again";
}

TEST_F(TraceBench, LargeCollectionsAreWrittenEarly) {
  config_.pending_bytes_max = 64 * 1024;
  config_.defaults.log_frequency = 1'000'000;
  start();
  for (int i = 0; i < 1000; ++i) {
    run(1);
    host_.run_ready();
  }
  EXPECT_EQ(counts_.dropped.load(), 0u);
  EXPECT_TRUE(std::filesystem::exists(file(".0")));
}

TEST_F(TraceBench, WhatARequestReports) {
  config_.defaults.level = kTimestamps | kTensors;
  start();
  Trace* trace = begin("model", "request \"7\"");
  EXPECT_EQ(trace->id(), 1u);
  EXPECT_TRUE(trace->wants_tensors());
  EXPECT_EQ(trace->traceparent(), "");
  trace->report_named(test::PassingText("HTTP_RECV_START").c_str(), 5);
  trace->report(TraceActivity::kRequestStart, 6);
  std::string values = test::bytes_of(std::vector<int32_t>{1, -2, 3});
  Buffer pieces[2];
  pieces[0].data = values.data();
  pieces[0].size_bytes = 5;
  pieces[1].data = values.data() + 5;
  pieces[1].size_bytes = 7;
  int64_t shape[] = {1, 3};
  trace->report_tensor(TraceActivity::kTensorQueueInput, "IN", DataType::kInt32, shape, pieces);
  values.assign(values.size(), 'x');
  Trace* child = trace->spawn_child("step", 2, "");
  trace->release();
  child->report(TraceActivity::kRequestStart, 0);
  child->release();
  stop();
  EXPECT_EQ(
      read_text(file()),
      R"([{"id":1,"model_name":"model","model_version":1,"request_id":"request \"7\""},)"
      R"({"id":1,"timestamps":[{"name":"HTTP_RECV_START","ns":5}]},{"id":1,"timestamps":[{"name":"REQUEST_START","ns":6}]},)"
      R"({"id":1,"activity":"TENSOR_QUEUE_INPUT","tensor":{"name":"IN","data":"1,-2,3","shape":"1,3","dtype":"INT32"}},)"
      R"({"id":2,"model_name":"step","model_version":2,"parent_id":1},)"
      R"({"id":2,"timestamps":[{"name":"REQUEST_START","ns":1000000000}]}])");
}

TEST_F(TraceBench, LevelsChooseWhatIsKept) {
  for (uint32_t level : {uint32_t{kTimestamps}, uint32_t{kTensors}}) {
    config_.defaults.level = level;
    start();
    Trace* trace = begin();
    EXPECT_EQ(trace->wants_tensors(), level == kTensors);
    trace->report(TraceActivity::kRequestStart, 0);
    trace->report_tensor(TraceActivity::kTensorQueueInput, "IN", DataType::kInt32, {}, {});
    trace->release();
    stop();
    std::string text = read_text(file());
    EXPECT_EQ(text.find("timestamps") != std::string::npos, level == kTimestamps) << text;
    EXPECT_EQ(text.find("tensor") != std::string::npos, level == kTensors) << text;
  }
}

TEST_F(TraceBench, TensorsInDeviceMemoryAreCopiedWhereAPluginReachesIt) {
  config_.defaults.level = kTensors;
  config_.tensor_bytes_max = 3;
  test::FakeDeviceMemory gpu;
  host_.registry().publish<Memory>("gpu", gpu, 0, Memory::kDevicesMinor);
  DeviceMemory devices(host_);
  ASSERT_TRUE(devices.open().ok());
  start();
  service_->use(devices);
  const Buffer buffer = gpu.make("\1\2\3\4");
  Trace* trace = begin();
  trace->report_tensor(TraceActivity::kTensorBackendInput, "i", DataType::kUint8, {}, {&buffer, 1});
  trace->release();
  stop();
  std::vector<std::string> data;
  rapidjson::Document document = parse_json(read_text(file()));
  for (const auto& object : document.GetArray()) {
    if (object.HasMember("tensor")) data.emplace_back(object["tensor"]["data"].GetString());
  }
  EXPECT_EQ(data, std::vector<std::string>{"1,2,3,..."});
  gpu.free(buffer);
}

TEST_F(TraceBench, TensorsAreBounded) {
  config_.defaults.level = kTensors;
  config_.tensor_bytes_max = 8;
  config_.trace_bytes_max = 20;
  start();
  Trace* trace = begin();
  std::vector<uint8_t> bytes(9, 1);
  auto report = [&](uint64_t size, MemoryKind kind = MemoryKind::kCpu) {
    Buffer buffer;
    buffer.data = bytes.data();
    buffer.size_bytes = size;
    buffer.kind = kind;
    trace->report_tensor(TraceActivity::kTensorBackendOutput, "o", DataType::kUint8, {}, {&buffer, 1});
  };
  report(7);
  report(8, MemoryKind::kGpu);
  report(8);
  report(9);
  report(9);
  trace->release();
  stop();
  std::vector<std::string> data;
  rapidjson::Document document = parse_json(read_text(file()));
  for (const auto& object : document.GetArray()) {
    if (object.HasMember("tensor")) data.emplace_back(object["tensor"]["data"].GetString());
  }
  EXPECT_EQ(data,
            (std::vector<std::string>{"1,1,1,1,1,1,1", "...", "1,1,1,1,1,1,1,1", "1,1,1,1,1,...", "..."}))
      << "20 bytes of the trace are 7 + 8 + 5";
}

TEST_F(TraceBench, EventsAndChildrenAreBounded) {
  start();
  Trace* trace = begin();
  for (uint64_t i = 0; i < Recorder::kEventsMax + 10; ++i) trace->report_named("X", 1);
  std::vector<Trace*> children;
  for (uint64_t i = 1; i < Recorder::kRequestsMax; ++i) children.push_back(trace->spawn_child("c", 1, ""));
  EXPECT_NE(children.back(), nullptr);
  EXPECT_EQ(trace->spawn_child("c", 1, ""), nullptr);
  for (Trace* child : children) child->release();
  trace->release();
  stop();
  EXPECT_EQ(parse_json(read_text(file())).GetArray().Size(), Recorder::kEventsMax + Recorder::kRequestsMax);
}

TEST_F(TraceBench, AReloadGoesOnWithTheFile) {
  start();
  run(1);
  stop();
  start(true);
  run(1);
  stop();
  EXPECT_EQ(ids_in(file()).size(), 2u);
  start();
  run(1);
  stop();
  EXPECT_EQ(ids_in(file()).size(), 1u);
}

}  // namespace
}  // namespace atl::tracing
