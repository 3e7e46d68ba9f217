/// The plugin's parts without the plugin, and models for them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "atoll/proto/model_description.h"
#include "atoll/runtime/shared_object.h"
#include "atoll/testing/fake_log.h"
#include "atoll/triton/host.h"
#include "backends/triton/triton_backend.h"
#include "model_config.pb.h"

namespace atl::triton {

/// A backend with what it needs. \param directory  of backends
struct TritonParts {
  TritonParts(Log& log, TritonOptions options)
      : scope(log), store(log, true), backend(std::move(options), store, nullptr) {}

  LogScope scope;
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
