#include "backends/llamacpp/engine/llama_engine.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>

#include "backends/llamacpp/library/llama_library.h"

namespace atl::llamacpp {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;
/// What llama.cpp computes at once: a longer step is cut by it.
constexpr int32_t kComputedAtOnce = 512;

/// What the machine can still give, in bytes; the largest number: it is not known.
uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  uint64_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return std::numeric_limits<uint64_t>::max();
}

/// Asked before, because Linux gives more than there is and ends the process later.
Status check_memory(const GgufFacts& facts, const EngineSize& size) {
  const uint64_t needed = facts.memory_bytes_per_token * static_cast<uint64_t>(size.memory_tokens);
  const uint64_t there = available_memory();
  if (needed <= there) return {};
  return make_status(Code::kResourceExhausted, "its memory for ", size.memory_tokens, " tokens takes ",
                     needed / kMib, " MiB, and the machine has ", there / kMib,
                     " MiB left: set the parameters context_length and kv_cache_tokens to less");
}

llama_context_params params_of(const LlamaApi& api, const EngineSize& size) {
  llama_context_params params = api.llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(size.memory_tokens);
  params.n_batch = static_cast<uint32_t>(size.step_tokens);
  params.n_seq_max = static_cast<uint32_t>(size.sequences);
  params.n_threads = params.n_threads_batch = size.threads;
  params.kv_unified = true;
  params.no_perf = true;
  params.offload_kqv = false;
  if (size.pooling == Pooling::kNone) {
    params.n_ubatch = static_cast<uint32_t>(std::min(size.step_tokens, kComputedAtOnce));
    // Each sequence wants the logits of one token of a step.
    params.n_outputs_max = params.n_seq_max;
  } else {
    // A text has to be computed at once where each token sees all others.
    params.n_ubatch = params.n_batch;
    params.embeddings = true;
    params.pooling_type = static_cast<enum llama_pooling_type>(size.pooling);
  }
  return params;
}

}  // namespace

Result<std::unique_ptr<LlamaEngine>> LlamaEngine::create(const LlamaModelFile& file, const EngineSize& size,
                                                         const LoraAdapter* adapter) noexcept try {
  ATOLL_RETURN_IF_ERROR(check_memory(file.facts(), size));
  const LlamaApi& api = file.api();
  std::lock_guard lock(file.changes());
  (void)take_llama_reason();
  llama_context* const context = api.llama_init_from_model(file.model(), params_of(api, size));
  const std::string reason = take_llama_reason();
  if (context == nullptr) {
    return invalid_argument("llama.cpp cannot make a context of ", size.memory_tokens, " tokens and ",
                            size.sequences, " sequences", reason.empty() ? "" : ": ", reason);
  }
  std::unique_ptr<LlamaEngine> engine(new LlamaEngine(file, size, context));
  ATOLL_RETURN_IF_ERROR(engine->make_threads());
  if (adapter != nullptr) ATOLL_RETURN_IF_ERROR(engine->use_adapter(*adapter));
  return engine;
} catch (const std::exception& error) {
  return make_status(Code::kResourceExhausted, "llama.cpp cannot make a context: ", error.what());
}

LlamaEngine::LlamaEngine(const LlamaModelFile& file, const EngineSize& size, llama_context* context)
    : file_(file), api_(file.api()), size_(size), context_(context) {
  // It may round up.
  size_.memory_tokens = static_cast<int32_t>(api_.llama_n_ctx(context));
  // A step that is longer than it takes would end the process.
  size_.step_tokens = std::min(size_.step_tokens, static_cast<int32_t>(api_.llama_n_batch(context)));
  can_share_ = !api_.llama_model_is_recurrent(file.model()) && !api_.llama_model_is_hybrid(file.model());
}

LlamaEngine::~LlamaEngine() {
  api_.llama_free(context_);
  if (threads_ != nullptr) free_threads_(threads_);
}

/// Without these llama.cpp makes threads at each step, and joins them.
Status LlamaEngine::make_threads() {
  if (size_.threads <= 1) return {};
  const auto registry =
      api_.ggml_backend_dev_backend_reg(api_.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
  const auto make = reinterpret_cast<ggml_threadpool* (*)(ggml_threadpool_params*)>(
      api_.ggml_backend_reg_get_proc_address(registry, "ggml_threadpool_new"));
  free_threads_ = reinterpret_cast<void (*)(ggml_threadpool*)>(
      api_.ggml_backend_reg_get_proc_address(registry, "ggml_threadpool_free"));
  if (make == nullptr || free_threads_ == nullptr)
    return internal_error("this llama.cpp has no functions for threads");
  ggml_threadpool_params params = api_.ggml_threadpool_params_default(size_.threads);
  // Threads without work sleep: the cores are other models', too.
  params.poll = 0;
  threads_ = make(&params);
  if (threads_ == nullptr)
    return make_status(Code::kResourceExhausted, "no ", size_.threads, " threads can be made");
  api_.llama_attach_threadpool(context_, threads_, threads_);
  return {};
}

Status LlamaEngine::use_adapter(const LoraAdapter& adapter) {
  llama_adapter_lora* one = adapter.adapter();
  float scale = 1;
  if (api_.llama_set_adapters_lora(context_, &one, 1, &scale) != 0)
    return invalid_argument("llama.cpp cannot use the adapter");
  // With its first step the context makes room for what the adapter adds; now, because it looks at all adapters of the model.
  const StepToken first{0, 0, 0, true};
  if (decode({&first, 1}) != StepEnd::kDone)
    return invalid_argument("llama.cpp cannot compute a step with the adapter");
  clear();
  return {};
}

StepEnd LlamaEngine::decode(std::span<const StepToken> step) noexcept try {
  const size_t size = step.size();
  tokens_.resize(size);
  positions_.resize(size);
  counts_.assign(size, 1);
  sequences_.resize(size);
  sequence_places_.resize(size);
  wanted_.resize(size);
  for (size_t i = 0; i < size; ++i) {
    tokens_[i] = step[i].token;
    positions_[i] = step[i].position;
    sequences_[i] = step[i].sequence;
    sequence_places_[i] = &sequences_[i];
    wanted_[i] = step[i].wants_logits ? 1 : 0;
  }
  const llama_batch batch{
      static_cast<int32_t>(size), tokens_.data(), nullptr, positions_.data(), counts_.data(),
      sequence_places_.data(),    wanted_.data()};
  switch (api_.llama_decode(context_, batch)) {
    case 0:
      return StepEnd::kDone;
    case 1:
      return StepEnd::kNoRoom;
    default:
      break;
  }
  clear();
  return StepEnd::kFailed;
} catch (const std::exception&) {
  clear();
  return StepEnd::kFailed;
}

std::span<const float> LlamaEngine::logits(size_t index) noexcept {
  const float* const row = api_.llama_get_logits_ith(context_, static_cast<int32_t>(index));
  if (row == nullptr) return {};
  return {row, static_cast<size_t>(file_.size())};
}

bool LlamaEngine::forget(int32_t sequence, int32_t from) noexcept {
  return api_.llama_memory_seq_rm(api_.llama_get_memory(context_), sequence, from, -1);
}

void LlamaEngine::share(int32_t from, int32_t to, int32_t tokens) noexcept {
  api_.llama_memory_seq_cp(api_.llama_get_memory(context_), from, to, 0, tokens);
}

std::span<const float> LlamaEngine::embedding(int32_t sequence) noexcept {
  const float* const vector = api_.llama_get_embeddings_seq(context_, sequence);
  if (vector == nullptr) return {};
  const bool is_rank = size_.pooling == Pooling::kRank;
  const auto size = is_rank ? static_cast<size_t>(api_.llama_model_n_cls_out(file_.model()))
                            : static_cast<size_t>(file_.facts().embedding_size);
  return {vector, size};
}

void LlamaEngine::clear() noexcept {
  const llama_memory_t memory = api_.llama_get_memory(context_);
  if (memory != nullptr) api_.llama_memory_clear(memory, false);
}

}  // namespace atl::llamacpp
