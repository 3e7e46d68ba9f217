#include "backends/llamacpp/model_settings.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "atoll/backend/parameters.h"

namespace atl::llamacpp {
namespace {

constexpr int64_t kContextDefaultMax = 8192;
constexpr int64_t kSequencesMax = 256;  // llama.cpp's own limit
constexpr int64_t kTokensMax = 1 << 24;
constexpr int64_t kThreadsMax = 512;
/// Of a step while somebody reads.
constexpr int64_t kInterTokenTargetUs = 100'000;

struct PoolingName {
  std::string_view name;
  Pooling pooling;
};
constexpr PoolingName kPoolings[] = {{"none", Pooling::kNone},
                                     {"mean", Pooling::kMean},
                                     {"cls", Pooling::kCls},
                                     {"last", Pooling::kLast},
                                     {"rank", Pooling::kRank}};

}  // namespace

Result<Pooling> pooling_of(const ModelDescription& model, const GgufFacts& facts) {
  const std::optional<std::string_view> text = backends::text_parameter(model, "pooling");
  if (!text) return facts.pooling;
  const auto* const found = std::find_if(std::begin(kPoolings), std::end(kPoolings),
                                         [&](const PoolingName& one) { return one.name == *text; });
  if (found != std::end(kPoolings)) return found->pooling;
  return invalid_argument("model '", model.name, "': parameter 'pooling' is '", *text,
                          "', expected none, mean, cls, last or rank");
}

Result<LlamaSettings> read_llama_settings(const ModelDescription& model, const GgufFacts& facts,
                                          int64_t default_threads) {
  LlamaSettings settings;
  const auto read = [&model](auto& to, std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
    Result<int64_t> value = backends::int_parameter(model, key, otherwise, low, high);
    if (!value.ok()) return std::move(value).status();
    to = static_cast<std::remove_reference_t<decltype(to)>>(*value);
    return Status();
  };
  const int64_t trained = facts.context_tokens;
  ATOLL_RETURN_IF_ERROR(
      read(settings.context_tokens, "context_length", std::min(trained, kContextDefaultMax), 16, trained));
  ATOLL_RETURN_IF_ERROR(read(settings.memory_tokens, "kv_cache_tokens", settings.context_tokens,
                             settings.context_tokens, kTokensMax));
  ATOLL_RETURN_IF_ERROR(read(settings.sequences, "max_sequences", settings.sequences, 1, kSequencesMax));
  ATOLL_RETURN_IF_ERROR(read(settings.queue_max, "max_queue_size", settings.queue_max, 1, 1'000'000));
  ATOLL_RETURN_IF_ERROR(read(settings.threads, "threads", default_threads, 1, kThreadsMax));
  // Each request that generates has a token in a step.
  const int64_t least = std::max<int64_t>(settings.sequences, 16);
  ATOLL_RETURN_IF_ERROR(
      read(settings.step_tokens, "step_tokens", std::max<int64_t>(settings.step_tokens, least), least, 8192));
  ATOLL_RETURN_IF_ERROR(read(settings.inter_token_target_us, "inter_token_latency_target_microseconds",
                             kInterTokenTargetUs, 0, 60'000'000));
  Result<bool> shared = backends::bool_parameter(model, "shared_prefixes", false);
  if (!shared.ok()) return std::move(shared).status();
  settings.shares_prefixes = *shared;
  Result<bool> maps = backends::bool_parameter(model, "mmap", false);
  if (!maps.ok()) return std::move(maps).status();
  settings.maps_file = *maps;
  Result<Pooling> pooling = pooling_of(model, facts);
  if (!pooling.ok()) return std::move(pooling).status();
  settings.pooling = *pooling;
  return settings;
}

}  // namespace atl::llamacpp
