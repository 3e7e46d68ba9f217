/// A model's folder with strategies in it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/temporary_directory.h"
#include "model_config.pb.h"
#include "schedulers/dynamic/custom/custom_batching.h"
#include "schedulers/dynamic/custom/strategy_file.h"

namespace atl::schedulers {

class StrategyBench : public testing::Test {
 protected:
  StrategyBench() {
    std::filesystem::create_directories(model() / "3");
    std::filesystem::create_directories(backends() / "onnxruntime");
    config.set_name("m");
    config.set_backend("onnxruntime");
    config.set_max_batch_size(8);
  }
  std::filesystem::path model() const { return folder.path() / "m"; }
  std::filesystem::path backends() const { return folder.path() / "backends"; }
  /// A copy of a strategy of the build.
  static void place(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
  static std::filesystem::path built(const std::string& name) {
    return std::filesystem::path(ATOLL_STRATEGIES) / (name + ".so");
  }
  void set_parameter(const std::string& key, const std::string& value) {
    (*config.mutable_parameters())[key].set_string_value(value);
  }
  SchedulerContext context() {
    bytes_ = config.SerializeAsString();
    SchedulerContext context;
    context.model_name = "m";
    context.model_version = 3;
    context.config = bytes_;
    context.model_directory = model();
    context.max_batch_size = 8;
    context.clock = &clock;
    return context;
  }
  Result<std::unique_ptr<CustomBatching>> open() {
    const SchedulerContext context = this->context();
    Result<std::string> path = find_strategy_file(context, config, backends().string());
    if (!path.ok()) return std::move(path).status();
    if (path->empty()) return std::unique_ptr<CustomBatching>();
    return CustomBatching::open(context, path.value(), log);
  }
  /// One that has to open.
  std::unique_ptr<CustomBatching> opened() {
    auto batching = open();
    EXPECT_TRUE(batching.ok()) << batching.status().text();
    return batching.ok() ? std::move(batching).value() : nullptr;
  }
  std::string open_failure() {
    auto batching = open();
    EXPECT_FALSE(batching.ok());
    return batching.status().text();
  }
  bool include(CustomBatching& batching, void* record, const std::string& id) {
    test::TestRequest request(id);
    return batching.include(*request, record);
  }

  test::TemporaryDirectory folder;
  test::FakeClock clock;
  test::RecordingLog log;
  inference::ModelConfig config;

 private:
  std::string bytes_;
};

}  // namespace atl::schedulers
