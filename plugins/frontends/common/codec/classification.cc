#include "frontends/common/codec/classification.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "atoll/request/number_type.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

template <class T>
std::string value_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::to_string(value);
  } else {
    return cat(value);
  }
}

/// Descending by value; NaN, which has no order, behind all numbers.
template <class T>
bool before(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a == a && b != b;
  }
  return a > b;
}

/// Appends the BYTES elements of one batch item.
template <class T>
void append_top(const std::vector<T>& values, size_t count, const TensorSpec* spec, std::string* out) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      if (before(values[a], values[b])) return true;
                      return !before(values[b], values[a]) && a < b;
                    });
  for (size_t i = 0; i < count; ++i) {
    uint32_t index = order[i];
    std::string text = cat(value_text(values[index]), ":", index);
    if (spec != nullptr && index < spec->labels.size() && !spec->labels[index].empty()) {
      text += cat(":", spec->labels[index]);
    }
    auto size = static_cast<uint32_t>(text.size());
    out->append(reinterpret_cast<const char*>(&size), sizeof size);
    out->append(text);
  }
}

template <class T>
std::string top_of_all(const Buffer& buffer, size_t items, size_t per_item, size_t count,
                       const TensorSpec* spec) {
  std::string out;
  std::vector<T> values(per_item);
  const auto* from = static_cast<const char*>(buffer.data);
  for (size_t item = 0; item < items; ++item) {
    std::memcpy(values.data(), from + item * per_item * sizeof(T), per_item * sizeof(T));
    append_top(values, count, spec, &out);
  }
  return out;
}

using TopOfAll = std::string (*)(const Buffer&, size_t, size_t, size_t, const TensorSpec*);

TopOfAll top_function(DataType type) noexcept {
  return visit_number_type(
      type,
      []<class T>(std::type_identity<T>) -> TopOfAll {
        if constexpr (std::is_same_v<T, bool>) {
          return nullptr;
        } else {
          return &top_of_all<T>;
        }
      },
      []() -> TopOfAll { return nullptr; });
}

const TensorSpec* find_spec(const ModelInfo& model, std::string_view name) noexcept {
  auto found = std::find_if(model.outputs.begin(), model.outputs.end(),
                            [name](const TensorSpec& spec) { return spec.name == name; });
  return found == model.outputs.end() ? nullptr : &*found;
}

}  // namespace

Status classify(const ModelInfo& model, Response& response, OutputTensor& output, uint32_t count) noexcept {
  TopOfAll top = top_function(output.datatype);
  if (top == nullptr) {
    return Status(Code::kInvalidArgument, messages::no_class_result(data_type_name(output.datatype)));
  }
  std::optional<int64_t> elements = element_count(output.shape);
  if (!elements.has_value() || *elements > kMaxClassificationElements) {
    return Status(Code::kInvalidArgument, std::string(messages::kClassificationTooLarge));
  }
  if (output.buffer.size_bytes < static_cast<uint64_t>(*elements) * data_type_size_bytes(output.datatype)) {
    return internal_error("output '", output.name, "' has ", output.buffer.size_bytes, " bytes, its shape ",
                          shape_text(output.shape), " asks for more");
  }
  const bool batched = model.max_batch_size > 0 && !output.shape.empty();
  const auto items = batched ? static_cast<size_t>(output.shape[0]) : size_t{1};
  const size_t per_item = items == 0 ? 0 : static_cast<size_t>(*elements) / items;
  const size_t top_count = std::min<size_t>(count, per_item);
  std::string text = top(output.buffer, items, per_item, top_count, find_spec(model, output.name));

  const int64_t shape[2] = {static_cast<int64_t>(items), static_cast<int64_t>(top_count)};
  output.datatype = DataType::kBytes;
  output.shape = response.arena().copy(std::span<const int64_t>(shape).subspan(batched ? 0 : 1));
  output.buffer = {};
  output.buffer.size_bytes = text.size();
  output.buffer.data = const_cast<char*>(response.arena().copy_text(text).data());
  return {};
}

Status classify_outputs(const ModelInfo& model, const Request& request, Response& response) noexcept {
  for (const RequestedOutput& wanted : request.outputs) {
    if (wanted.classification == 0) continue;
    for (OutputTensor& output : response.outputs) {
      if (output.name != wanted.name) continue;
      ATOLL_RETURN_IF_ERROR(classify(model, response, output, wanted.classification));
    }
  }
  return {};
}

}  // namespace atl::frontends
