/// A loaded version of a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "backends/llamacpp/engine/llama_engine.h"
#include "backends/llamacpp/engine/llama_model_file.h"
#include "backends/llamacpp/loop/llama_counts.h"
#include "backends/llamacpp/model_settings.h"

namespace atl::llamacpp {

/// What instances share.
struct LlamaModelParts {
  const Clock& clock;
  ExecutorFactory& executors;
  std::string name;
  size_t outputs = 0;  ///< of the model
  LlamaSettings settings;
  std::shared_ptr<LlamaModelFile> file;
  std::unique_ptr<LoraAdapter> adapter = nullptr;  ///< goes before the file; null: there is none
  uint64_t adapter_bytes = 0;
  std::shared_ptr<LlamaCounts> counts;

  EngineSize engine_size() const;
};

class LlamaModel final : public BackendModel {
 public:
  explicit LlamaModel(LlamaModelParts parts) : parts_(std::move(parts)) {}

  /// Errors: UNIMPLEMENTED KIND_GPU; those of LlamaEngine::create().
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override;
  std::vector<MemoryUsage> memory_usage() const noexcept override;

 private:
  const LlamaModelParts parts_;
};

}  // namespace atl::llamacpp
