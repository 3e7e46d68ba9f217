/// The backend as the server sees it, whether llama.cpp is there or not.
#pragma once

#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/host.h"
#include "backends/llamacpp/llama_metrics.h"
#include "backends/llamacpp/probe/file_trials.h"
#include "backends/llamacpp/shared_files.h"

namespace atl::llamacpp {

struct LlamaBackendSettings {
  std::vector<std::string> engine_folders;  ///< where llama.cpp is looked for
  int64_t threads = 1;                      ///< for models that do not say
  bool tries_files = true;                  ///< in a program of their own, before they are loaded
  int64_t trial_timeout_ns = 0;
  uint64_t trial_memory_bytes = 0;
};

/// Opens llama.cpp with the first model, so that nobody else pays for it. [any]
class LlamaBackend final : public Backend {
 public:
  explicit LlamaBackend(Host& host) noexcept : host_(host) {}

  /// Before the first model. [control]
  void set(LlamaBackendSettings settings) { settings_ = std::move(settings); }
  LlamaMetrics& metrics() noexcept { return metrics_; }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{InstanceKind::kCpu, 1, {}}}};
  }
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  /// Errors also: FAILED_PRECONDITION llama.cpp cannot be used, with the reason; those of FileTrials.
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  Result<GgufFacts> facts_of(const TriedFiles& files) noexcept;

  Host& host_;
  LlamaBackendSettings settings_;
  FileTrials trials_;
  SharedFiles files_;
  LlamaMetrics metrics_;
};

/// `default_model_filename`, else model.gguf, else the only *.gguf of the folder, or the first of the parts of one.
/// Errors: NOT_FOUND, INVALID_ARGUMENT with what is there.
Result<std::string> find_gguf(const std::string& version_directory, const std::string& file_name) noexcept;

/// The files of a model. The model "BASE:ADAPTER" beside a model BASE, or any with a parameter `base_model`, is an adapter: its own file
/// goes with that of the newest version of its base, whose folder lies beside its own. An empty `base_model`: it is none.
/// \param file_name  default_model_filename of the model; empty: it has none
/// Errors: those of find_gguf(); NOT_FOUND there is no such base.
Result<TriedFiles> find_files(const ModelSource& source, const std::string& file_name) noexcept;

}  // namespace atl::llamacpp
