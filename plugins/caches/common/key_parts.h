/// What makes two requests equal, in an order that does not depend on how they were sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/memory/memory.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"

namespace atl::caches {

/// False if an input is not there for the CPU, or its client may change it while the answer is computed, which
/// would then be kept for others under what was asked before.
inline bool has_steady_inputs(const Request& request) noexcept {
  return std::all_of(request.inputs.begin(), request.inputs.end(), [](const InputTensor& input) {
    return (input.flags & InputTensor::kShared) == 0 &&
           std::all_of(input.buffers.begin(), input.buffers.end(),
                       [](const Buffer& buffer) { return is_host_ready(buffer); });
  });
}

/// True if its answer is written into memory whose client may change it while it is copied.
inline bool has_placed_outputs(const Request& request) noexcept {
  return std::any_of(request.outputs.begin(), request.outputs.end(),
                     [](const RequestedOutput& output) { return output.placement.data != nullptr; });
}

/// Gives a hash, every one with its length, each input's name, type, shape and bytes, the outputs that are asked
/// for and the parameters that matter to the model. The order in which inputs and outputs were sent, and how an
/// input's bytes are cut into buffers, do not matter; what is made of the outputs for the client (their place,
/// classification) does not either.
/// \tparam Hash  has add(const void*, size_t)
template <class Hash>
class KeyParts {
 public:
  KeyParts(const Request& request, Hash& hash) noexcept : request_(request), hash_(hash) {}

  void add_all() noexcept {
    const ModelInfo& model = request_.model->info();
    add(model.name);
    add(static_cast<uint64_t>(model.version));
    add(uint64_t{request_.inputs.size()});
    each_by_name(
        request_.inputs, [](const InputTensor& input) { return input.name; },
        [&](const InputTensor& input) { add_input(input); });
    add(uint64_t{request_.outputs.size()});
    each_by_name(
        request_.outputs, [](const RequestedOutput& output) { return output.name; },
        [&](const RequestedOutput& output) { add(output.name); });
    if (model.cache_parameters.empty()) return;
    each_by_name(
        request_.parameters, [](const Parameter& parameter) { return parameter.key; },
        [&](const Parameter& parameter) {
          if (matters(model, parameter.key)) add_parameter(parameter);
        });
  }
  void add(uint64_t number) noexcept { hash_.add(&number, sizeof number); }
  void add(std::string_view text) noexcept {
    add(uint64_t{text.size()});
    hash_.add(text.data(), text.size());
  }

 private:
  /// In the order of their names. Most requests have few, in that order already.
  template <class Item, class Name, class Each>
  static void each_by_name(const ArenaList<Item>& items, Name&& name, Each&& each) noexcept {
    const uint32_t count = items.size();
    const bool is_sorted = std::is_sorted(items.begin(), items.end(),
                                          [&](const Item& a, const Item& b) { return name(a) < name(b); });
    if (is_sorted) {
      for (const Item& item : items) each(item);
      return;
    }
    // Names may not repeat: the next one is the smallest that is larger than the one before.
    std::string_view before;
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

  static bool matters(const ModelInfo& model, std::string_view parameter) noexcept {
    return std::any_of(model.cache_parameters.begin(), model.cache_parameters.end(),
                       [&](const std::string& name) { return name == "*" || name == parameter; });
  }

  void add_input(const InputTensor& input) noexcept {
    add(input.name);
    add(uint64_t{static_cast<uint32_t>(input.datatype)});
    add(uint64_t{input.shape.size()});
    hash_.add(input.shape.data(), input.shape.size_bytes());
    add(input.size_bytes);
    for (const Buffer& buffer : input.buffers) hash_.add(buffer.data, buffer.size_bytes);
  }

  void add_parameter(const Parameter& parameter) noexcept {
    add(parameter.key);
    add(uint64_t{static_cast<uint32_t>(parameter.type)});
    if (parameter.type == ParameterType::kString || parameter.type == ParameterType::kBytes) {
      add(parameter.text);
    } else {
      add(parameter.type == ParameterType::kBool ? uint64_t{parameter.bool_value}
                                                 : static_cast<uint64_t>(parameter.int_value));
    }
  }

  const Request& request_;
  Hash& hash_;
};

}  // namespace atl::caches
