/// Settings, a service and its exporter on a simulated host, for tests.
#pragma once

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/option_table.h"
#include "atoll/testing/temporary_directory.h"
#include "telemetry/trace/file_exporter.h"
#include "telemetry/trace/option_table.h"
#include "telemetry/trace/tracing_service.h"

namespace atl::tracing {

/// What the manifest gives by default.
inline void set_default_options(test::FakeOptions& options) {
  Status status = test::apply_option_table(kOptions, {}, options);
  EXPECT_TRUE(status.ok()) << status.text();
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The document; not valid JSON fails the test.
inline rapidjson::Document parse_json(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(text.c_str());
  EXPECT_FALSE(document.HasParseError()) << text.substr(0, 500);
  return document;
}

/// Distinct trace ids of a trace file, in order.
inline std::vector<uint64_t> ids_in(const std::filesystem::path& path) {
  std::vector<uint64_t> ids;
  rapidjson::Document document = parse_json(read_text(path));
  if (!document.IsArray()) return ids;
  for (const auto& object : document.GetArray()) {
    if (object.HasMember("model_name")) ids.push_back(object["id"].GetUint64());
  }
  return ids;
}

/// A tracing service in mode triton.
class TraceBench : public ::testing::Test {
 protected:
  TraceBench() {
    config_.file = (folder_.path() / "trace.json").string();
    config_.defaults = {kTimestamps, 1, -1, 0};
    config_.tensor_bytes_max = 1024;
    config_.trace_bytes_max = 4096;
    config_.pending_bytes_max = 1 << 20;
  }
  ~TraceBench() override { stop(); }

  void start(bool continues = false) {
    exporter_ = std::make_unique<FileExporter>(config_, continues, host_.clock(), host_.log(), counts_);
    ASSERT_TRUE(exporter_->start(host_.executors()).ok());
    service_ =
        std::make_unique<TracingService>(config_, *exporter_, counts_, host_.clock(), host_.gate(), ids_);
  }
  void stop() {
    if (exporter_ != nullptr) exporter_->stop(host_.clock().now_ns());
    service_.reset();
    exporter_.reset();
  }
  Trace* begin(std::string_view model = "m", std::string_view request_id = {}) {
    TraceStart start;
    start.model = model;
    start.version = 1;
    start.request_id = request_id;
    return service_->start(start);
  }
  /// Traces so many requests, if they are sampled. \returns how many were.
  uint64_t run(uint64_t count, std::string_view model = "m") {
    uint64_t sampled = 0;
    for (uint64_t i = 0; i < count; ++i) {
      Trace* trace = begin(model);
      if (trace == nullptr) continue;
      trace->report(TraceActivity::kRequestStart, 0);
      trace->release();
      ++sampled;
    }
    return sampled;
  }
  std::string update(std::string_view model, std::vector<TraceSetting> changes) {
    return std::string(service_->update(model, changes).message());
  }
  /// "trace_level=OFF trace_rate=1 ...".
  std::string shown_settings(std::string_view model = {}) {
    std::string text;
    auto settings = service_->settings(model);
    for (const TraceSetting& setting : settings.value()) {
      text += cat(text.empty() ? "" : " ", setting.key, "=");
      for (size_t i = 0; i < setting.values.size(); ++i) text += cat(i == 0 ? "" : "|", setting.values[i]);
    }
    return text;
  }
  std::filesystem::path file(std::string_view suffix = {}) { return config_.file + std::string(suffix); }

  test::TemporaryDirectory folder_;
  test::FakeHost host_;
  Config config_;
  ExportCounts counts_;
  IdSource ids_{{1, 2}};
  std::unique_ptr<FileExporter> exporter_;
  std::unique_ptr<TracingService> service_;
};

}  // namespace atl::tracing
