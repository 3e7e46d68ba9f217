/// Model configurations: text in, checked and completed ModelConfig out. Service
/// "atoll.model_config/1", minor 2.
///
/// A ModelConfig crosses interfaces as serialized bytes of inference.ModelConfig: the wire format is the
/// stable ABI. Who wants its fields parses it with the library of sdk/proto.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/status.h"
#include "atoll/models/repository.h"

namespace atl {

/// [worker] All functions are pure and may run several at once.
class ModelConfigs {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_config/1";

  /// Parses config.pbtxt (an empty text where there is none), derives name, platform, backend and default
  /// model file name from the directory, normalises and validates. With strict, the text must exist and be
  /// complete. Errors: INVALID_ARGUMENT "<path>:<line>:<column>: field '<field>': <reason>" for the text, the
  /// specified texts for the rules.
  virtual Result<std::string> read(const RepositoryModel& model, bool strict) noexcept = 0;
  /// Normalises and validates again after a backend completed the configuration; also checks inputs and
  /// outputs.
  virtual Result<std::string> finish(std::string_view config) noexcept = 0;
  /// Fills and checks the instance groups (no group: one; KIND_AUTO resolved; counts), knowing the backend's
  /// wishes and the usable GPUs.
  virtual Result<std::string> finish_instance_groups(std::string_view config, const BackendTraits& traits,
                                                     std::span<const int32_t> usable_gpus) noexcept = 0;
  /// The versions to serve under the version policy, ascending.
  /// Errors: INVALID_ARGUMENT "at least one version must be available under the version policy of model
  /// '<m>'".
  virtual Result<std::vector<RepositoryVersion>> select_versions(
      std::string_view config, const RepositoryModel& model, std::vector<std::string>* warnings) noexcept = 0;

  // --- since minor 1 ---
  /// As read(), from a configuration's JSON form instead of the model directory's text. Names of enum values
  /// in any case, 64-bit numbers as numbers or texts. Errors: INVALID_ARGUMENT "Invalid config override:
  /// <reason>" for the JSON; the specified texts for the rules.
  virtual Result<std::string> read_json(const RepositoryModel& model, std::string_view /*json*/,
                                        bool /*strict*/) noexcept {
    return unimplemented("model '", model.entry.name, "': configurations are not taken as JSON");
  }

  // --- since minor 2 ---
  /// The configuration as it is written: nothing derived, normalised or validated. An empty one where there is none.
  /// Errors: those of read() and read_json() for the text.
  virtual Result<std::string> parse(const RepositoryModel& model) noexcept {
    return unimplemented("model '", model.entry.name, "': configurations are not shown as they are written");
  }
  virtual Result<std::string> parse_json(const RepositoryModel& model, std::string_view /*json*/) noexcept {
    return unimplemented("model '", model.entry.name, "': configurations are not shown as they are written");
  }

 protected:
  ~ModelConfigs() = default;
};

}  // namespace atl
