#include "backends/llamacpp/engine/lora_adapter.h"

#include <exception>
#include <mutex>

#include "backends/llamacpp/library/llama_library.h"

namespace atl::llamacpp {

Result<std::unique_ptr<LoraAdapter>> LoraAdapter::load(const LlamaModelFile& base,
                                                       const std::string& path) noexcept try {
  std::lock_guard lock(base.changes());
  (void)take_llama_reason();
  llama_adapter_lora* const adapter = base.api().llama_adapter_lora_init(base.model(), path.c_str());
  const std::string reason = take_llama_reason();
  if (adapter == nullptr) {
    return invalid_argument("model file '", path, "': llama.cpp cannot read it as an adapter",
                            reason.empty() ? "" : ": ", reason);
  }
  return std::unique_ptr<LoraAdapter>(new LoraAdapter(base, adapter));
} catch (const std::exception& error) {
  return invalid_argument("model file '", path, "': llama.cpp cannot read it as an adapter: ", error.what());
}

LoraAdapter::~LoraAdapter() {
  std::lock_guard lock(base_.changes());
  base_.api().llama_adapter_lora_free(adapter_);
}

}  // namespace atl::llamacpp
