#include "backends/llamacpp/llama_model.h"

#include <utility>

#include "backends/llamacpp/embedding_instance.h"
#include "backends/llamacpp/generation_instance.h"

namespace atl::llamacpp {

EngineSize LlamaModelParts::engine_size() const {
  EngineSize size{.sequences = settings.sequences,
                  .memory_tokens = settings.memory_tokens,
                  .step_tokens = settings.step_tokens,
                  .threads = settings.threads,
                  .pooling = settings.pooling};
  if (size.pooling != Pooling::kNone) {
    // A text is computed at once, and nothing is kept of it.
    size.step_tokens = settings.context_tokens;
    size.memory_tokens = settings.context_tokens;
  }
  return size;
}

Result<std::unique_ptr<BackendInstance>> LlamaModel::create_instance(const InstanceSpec& spec) noexcept {
  if (spec.kind == InstanceKind::kGpu) {
    return unimplemented("instance '", spec.name,
                         "': found KIND_GPU, expected KIND_CPU: this build of llama.cpp runs on CPUs");
  }
  auto engine = LlamaEngine::create(*parts_.file, parts_.engine_size(), parts_.adapter.get());
  if (!engine.ok()) {
    return make_status(engine.status().code(), "model '", parts_.name, "': ", engine.status().message());
  }
  if (parts_.settings.pooling != Pooling::kNone) {
    return std::unique_ptr<BackendInstance>(
        new EmbeddingInstance(parts_, std::move(engine).value(), spec.reporter));
  }
  auto instance = std::make_unique<GenerationInstance>(parts_, std::move(engine).value(), spec.reporter);
  ATOLL_RETURN_IF_ERROR(instance->start(spec));
  return std::unique_ptr<BackendInstance>(std::move(instance));
}

std::vector<MemoryUsage> LlamaModel::memory_usage() const noexcept {
  const GgufFacts& facts = parts_.file->facts();
  const uint64_t kept =
      parts_.settings.pooling == Pooling::kNone
          ? facts.memory_bytes_per_token * static_cast<uint64_t>(parts_.settings.memory_tokens)
          : 0;
  // An adapter has the weights in common with its base.
  const uint64_t own = parts_.adapter == nullptr ? facts.weights_bytes : parts_.adapter_bytes;
  return {{MemoryKind::kCpu, 0, own + kept}};
}

}  // namespace atl::llamacpp
