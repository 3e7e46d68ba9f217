/// Model configurations: text in, checked and completed ModelConfig out. Service "atoll.model_config/1",
/// minor 2, provided by configs/pbtxt.
///
/// A ModelConfig (Triton's model_config.proto) crosses interfaces as serialized bytes of
/// inference.ModelConfig, because protobuf's wire format is stable and its C++ types are not. A plugin that
/// wants fields which ModelDescription does not have parses the bytes with the library of sdk/proto:
///
///     inference::ModelConfig message;
///     if (!message.ParseFromArray(config.data(), static_cast<int>(config.size()))) return bad_config();
///
/// At a load the catalog calls read() or read_json(), select_versions(), lets the backend complete the
/// result, then calls finish() and finish_instance_groups().
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

/// All functions are pure: they depend on their parameters and on the plugin's options, keep nothing, and may
/// run several at once. They may block. [worker]
class ModelConfigs {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_config/1";

  /// Parses config.pbtxt; a model without one has an empty configuration. Derives name, platform, backend and
  /// default model file name from the directory, then normalises and validates.
  /// \param strict  the text must exist and be complete: backends are not asked to fill anything in
  /// Errors: INVALID_ARGUMENT "<path>:<line>:<column>: field '<field>': <reason>" for the text, and the texts
  /// of Triton for the rules; NOT_FOUND strict, and there is no text.
  virtual Result<std::string> read(const RepositoryModel& model, bool strict) noexcept = 0;
  /// Normalises and validates again after a backend completed the configuration. Inputs and outputs are
  /// checked, too, because they have to be there now.
  virtual Result<std::string> finish(std::string_view config) noexcept = 0;
  /// Fills in and checks the instance groups: a model without any gets one, KIND_AUTO becomes KIND_GPU or
  /// KIND_CPU, and counts are set. An ensemble's configuration is returned as it is.
  /// \param traits       what the model's backend prefers
  /// \param usable_gpus  CUDA ordinals
  virtual Result<std::string> finish_instance_groups(std::string_view config, const BackendTraits& traits,
                                                     std::span<const int32_t> usable_gpus) noexcept = 0;
  /// The versions to serve under the configuration's version policy, ascending.
  /// \param warnings  gets a line for each version that the policy names and the directory does not have, up
  /// to a bound; may be null
  /// Errors: INVALID_ARGUMENT "at least one version must be available under the version policy of model
  /// '<m>'".
  virtual Result<std::vector<RepositoryVersion>> select_versions(
      std::string_view config, const RepositoryModel& model, std::vector<std::string>* warnings) noexcept = 0;

  // --- since minor 1 ---
  /// As read(), from a configuration's JSON form (a client's "config" parameter) instead of the model
  /// directory's text. Names of enum values may be in any case, 64-bit numbers may be numbers or texts.
  /// Errors: INVALID_ARGUMENT "Invalid config override: <reason>" for the JSON; those of read() for the
  /// rules.
  virtual Result<std::string> read_json(const RepositoryModel& model, std::string_view /*json*/,
                                        bool /*strict*/) noexcept {
    return unimplemented("model '", model.entry.name, "': configurations are not taken as JSON");
  }

  // --- since minor 2 ---
  /// The configuration as it is written: nothing is derived, normalised or validated. Empty where there is
  /// none. For repository agents, which are called before the configuration has to make sense.
  /// Errors: those of read() for the text.
  virtual Result<std::string> parse(const RepositoryModel& model) noexcept {
    return unimplemented("model '", model.entry.name, "': configurations are not shown as they are written");
  }
  /// The same for a configuration in JSON form.
  /// Errors: those of read_json() for the text.
  virtual Result<std::string> parse_json(const RepositoryModel& model, std::string_view /*json*/) noexcept {
    return unimplemented("model '", model.entry.name, "': configurations are not shown as they are written");
  }

 protected:
  ~ModelConfigs() = default;
};

}  // namespace atl
