/// Model configurations in protobuf text format.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/models/model_config.h"
#include "configs/pbtxt/parse_text.h"

namespace atl::pbtxt {

struct Settings {
  UnknownFields unknown_fields = UnknownFields::kRefuse;
  uint32_t instances_max = 1024;        ///< over all groups and GPUs of a model
  double min_compute_capability = 6.0;  ///< of the GPUs that are used; a message says it
};

/// Keeps no state but its settings, so everything may run several at once. Failures carry the field's place as their note:
/// Status::text() is "<path>:<line>:<column>: field '<field>': <message>".
class PbtxtModelConfigs final : public ModelConfigs {
 public:
  /// \param log  gets ignored unknown fields, and the mistakes of a file after its first; outlives this object; may be null.
  PbtxtModelConfigs(Settings settings, Log* log) : settings_(settings), log_(log) {}
  /// What is read from now on is judged by these. [any]
  void follow(const Settings& settings) noexcept {
    std::scoped_lock lock(mutex_);
    settings_ = settings;
  }

  /// With strict and no file: NOT_FOUND "model configuration is not provided for model '<m>'".
  Result<std::string> read(const RepositoryModel& model, bool strict) noexcept override;
  Result<std::string> finish(std::string_view config) noexcept override;
  Result<std::string> finish_instance_groups(std::string_view config, const BackendTraits& traits,
                                             std::span<const int32_t> usable_gpus) noexcept override;
  Result<std::vector<RepositoryVersion>> select_versions(
      std::string_view config, const RepositoryModel& model,
      std::vector<std::string>* warnings) noexcept override;
  Result<std::string> read_json(const RepositoryModel& model, std::string_view json,
                                bool strict) noexcept override;
  Result<std::string> parse(const RepositoryModel& model) noexcept override;
  Result<std::string> parse_json(const RepositoryModel& model, std::string_view json) noexcept override;

 private:
  Result<ParsedText> parse_file(const RepositoryModel& model, bool strict) const;
  /// Derives, normalises and validates. \param log  gets the mistakes beside the one that the failure tells; may be null
  Result<std::string> complete(const RepositoryModel& model, ParsedText parsed, bool strict, Log* log) const;
  Status validate(const inference::ModelConfig& config, const SourceMap& source) const;

  Settings settings() const noexcept {
    std::scoped_lock lock(mutex_);
    return settings_;
  }

  mutable std::mutex mutex_;
  Settings settings_;  // guarded by mutex_
  Log* const log_;
};

}  // namespace atl::pbtxt
