#include "caches/common/cache_key.h"

#include <algorithm>
#include <string_view>

#include "atoll/memory.h"
#include "atoll/model.h"

// Its functions here, and not those of a library that a plugin might bring too.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace atl::caches {
namespace {

class Hash {
 public:
  explicit Hash(uint64_t seed) noexcept { XXH3_128bits_reset_withSeed(&state_, seed); }
  void add(const void* data, size_t bytes) noexcept {
    if (bytes != 0) (void)XXH3_128bits_update(&state_, data, bytes);
  }
  void add(uint64_t number) noexcept { add(&number, sizeof number); }
  void add(std::string_view text) noexcept {
    add(uint64_t{text.size()});
    add(text.data(), text.size());
  }
  XXH128_hash_t value() const noexcept { return XXH3_128bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// In the order of their names. Most requests have few, in that order already.
template <class Item, class Name, class Each>
void each_by_name(const ArenaList<Item>& items, Name&& name, Each&& each) {
  const uint32_t count = items.size();
  std::string_view before;
  const bool is_sorted = std::is_sorted(items.begin(), items.end(),
                                        [&](const Item& a, const Item& b) { return name(a) < name(b); });
  if (is_sorted) {
    for (const Item& item : items) each(item);
    return;
  }
  // Names may not repeat: the next one is the smallest that is larger than the one before.
  for (uint32_t i = 0; i < count; ++i) {
    const Item* next = nullptr;
    for (const Item& item : items) {
      if (i != 0 && name(item) <= before) continue;
      if (next == nullptr || name(item) < name(*next)) next = &item;
    }
    if (next == nullptr) return;
    before = name(*next);
    each(*next);
  }
}

bool matters(const ModelInfo& model, std::string_view parameter) noexcept {
  return std::any_of(model.cache_parameters.begin(), model.cache_parameters.end(),
                     [&](const std::string& name) { return name == "*" || name == parameter; });
}

void add_input(const InputTensor& input, Hash& hash) noexcept {
  hash.add(input.name);
  hash.add(uint64_t{static_cast<uint32_t>(input.datatype)});
  hash.add(uint64_t{input.shape.size()});
  hash.add(input.shape.data(), input.shape.size_bytes());
  hash.add(input.size_bytes);
  for (const Buffer& buffer : input.buffers) hash.add(buffer.data, buffer.size_bytes);
}

void add_parameter(const Parameter& parameter, Hash& hash) noexcept {
  hash.add(parameter.key);
  hash.add(uint64_t{static_cast<uint32_t>(parameter.type)});
  if (parameter.type == ParameterType::kString || parameter.type == ParameterType::kBytes) {
    hash.add(parameter.text);
  } else {
    hash.add(parameter.type == ParameterType::kBool ? uint64_t{parameter.bool_value}
                                                    : static_cast<uint64_t>(parameter.int_value));
  }
}

}  // namespace

std::optional<CacheKey> key_of(const Request& request, uint64_t load, uint64_t seed) noexcept {
  const ModelInfo& model = request.model->info();
  CacheKey key;
  key.inputs = request.inputs.size();
  key.outputs = request.outputs.size();
  for (const InputTensor& input : request.inputs) {
    if ((input.flags & InputTensor::kShared) != 0) return std::nullopt;
    key.input_bytes += input.size_bytes;
    for (const Buffer& buffer : input.buffers) {
      if (!is_host_ready(buffer)) return std::nullopt;
    }
  }
  Hash hash(seed);
  hash.add(load);
  hash.add(model.name);
  hash.add(static_cast<uint64_t>(model.version));
  hash.add(uint64_t{key.inputs});
  each_by_name(
      request.inputs, [](const InputTensor& input) { return input.name; },
      [&](const InputTensor& input) { add_input(input, hash); });
  hash.add(uint64_t{key.outputs});
  each_by_name(
      request.outputs, [](const RequestedOutput& output) { return output.name; },
      [&](const RequestedOutput& output) { hash.add(output.name); });
  if (!model.cache_parameters.empty()) {
    each_by_name(
        request.parameters, [](const Parameter& parameter) { return parameter.key; },
        [&](const Parameter& parameter) {
          if (matters(model, parameter.key)) add_parameter(parameter, hash);
        });
  }
  const XXH128_hash_t value = hash.value();
  key.low = value.low64;
  key.high = value.high64;
  return key;
}

}  // namespace atl::caches
