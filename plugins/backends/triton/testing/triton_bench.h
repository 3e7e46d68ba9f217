/// The plugin's parts without the plugin, and models for them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "atoll/proto/model_description.h"
#include "atoll/runtime/shared_object.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_log.h"
#include "atoll/triton/host.h"
#include "backends/triton/triton_backend.h"
#include "model_config.pb.h"

namespace atl::triton {

/// A backend with what it needs.
struct TritonParts {
  /// \param load_timeout_ns  on the clock of `host`, which no thread uses of its own accord; 0: none
  TritonParts(Log& log, TritonOptions options, int64_t load_timeout_ns = 0,
              test::FakeHost::Threads threads = test::FakeHost::Threads::kSimulated)
      : scope(log),
        around(std::make_shared<ForeignContext>(log, nullptr)),
        host("triton", threads),
        calls(host.clock(), host.executors(), load_timeout_ns),
        store(around, calls, true),
        backend(std::move(options), store) {
    EXPECT_TRUE(calls.open().ok());
  }
  ~TritonParts() {
    store.close();
    around->log.give_back();
  }

  LogScope scope;
  std::shared_ptr<ForeignContext> around;
  test::FakeHost host;
  LoadCalls calls;
  BackendStore store;
  TritonBackend backend;
};

inline ModelSource source_of(const inference::ModelConfig& config) {
  ModelSource source;
  source.name = config.name();
  source.version = 1;
  source.model_directory = "/nonexistent/" + config.name();
  source.version_directory = source.model_directory + "/1";
  source.config = config.SerializeAsString();
  source.model = proto::describe_model(config);
  return source;
}

inline ModelSource source_of(const std::string& name, const std::string& backend) {
  inference::ModelConfig config;
  config.set_name(name);
  config.set_backend(backend);
  return source_of(config);
}

}  // namespace atl::triton
