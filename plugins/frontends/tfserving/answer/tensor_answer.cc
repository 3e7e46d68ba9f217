#include "frontends/tfserving/answer/tensor_answer.h"

#include <google/protobuf/stubs/strutil.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/core/utf8.h"
#include "atoll/lib/json_writer.h"
#include "atoll/memory/memory.h"
#include "atoll/request/number_type.h"
#include "frontends/tfserving/request/small_floats.h"

namespace atl::frontends::tfserving {
namespace {

/// The shortest text that reads as the same number; always with a point or an exponent, as clients tell floats by it.
template <class Float>
void write_floating(CheckedWriter& json, Float value) {
  char text[40];
  size_t size = 0;
  if (std::isfinite(value)) {
    size = static_cast<size_t>(std::to_chars(text, text + sizeof text - 2, value).ptr - text);
    if (std::string_view(text, size).find_first_of(".e") == std::string_view::npos) {
      text[size++] = '.';
      text[size++] = '0';
    }
  } else {
    const std::string_view word = std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    std::memcpy(text, word.data(), size = word.size());
  }
  json.RawValue(text, size, rapidjson::kNumberType);
}

/// The elements of one tensor in their order, each read once.
class ElementReader {
 public:
  explicit ElementReader(const TakenTensor& tensor)
      : tensor_(tensor), is_coded_(tensor.name.ends_with("_bytes")), rest_(tensor.bytes) {}

  Status write_next(CheckedWriter& json) {
    if (tensor_.datatype == DataType::kBytes) return write_text_element(json);
    if (tensor_.datatype == DataType::kFp16 || tensor_.datatype == DataType::kBf16) {
      const auto bits = take<uint16_t>();
      write_floating(json, tensor_.datatype == DataType::kFp16 ? float_of_half(bits) : float_of_bfloat(bits));
      return {};
    }
    visit_number_type(
        tensor_.datatype, [&]<class T>(std::type_identity<T>) { write_number<T>(json); }, [] {});
    return {};
  }
  /// As write_next(), for a whole part of the tensor. \param depth  its first dimension
  Status write_part(CheckedWriter& json, std::span<const int64_t> shape) {
    if (shape.empty()) return write_next(json);
    json.StartArray();
    for (int64_t i = 0; i < shape[0]; ++i) ATOLL_RETURN_IF_ERROR(write_part(json, shape.subspan(1)));
    json.EndArray();
    return {};
  }

 private:
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  template <class T>
  void write_number(CheckedWriter& json) {
    if constexpr (std::is_same_v<T, bool>) {
      json.Bool(take<uint8_t>() != 0);
    } else if constexpr (std::is_floating_point_v<T>) {
      write_floating(json, take<T>());
    } else if constexpr (std::is_signed_v<T>) {
      json.Int64(take<T>());
    } else {
      json.Uint64(take<T>());
    }
  }
  Status write_text_element(CheckedWriter& json) {
    const auto size = take<uint32_t>();
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (is_coded_) {
      std::string coded;
      google::protobuf::Base64Escape(std::string(text), &coded);
      write_object(json, [&] { write_member(json, "b64", coded); });
      return {};
    }
    if (!is_utf8(text))
      return invalid_argument(
          "the output '", tensor_.name,
          "' has bytes that are no UTF-8: an output whose name ends in '_bytes' comes as base64");
    write_text(json, text);
    return {};
  }

  const TakenTensor& tensor_;
  const bool is_coded_;
  std::string_view rest_;
};

/// Whether the lengths of a BYTES output are those of so many elements.
bool are_texts(std::string_view bytes, int64_t count) noexcept {
  for (; count > 0; --count) {
    uint32_t size = 0;
    if (bytes.size() < sizeof size) return false;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (bytes.size() < size) return false;
    bytes.remove_prefix(size);
  }
  return bytes.empty();
}

bool fits_shape(const OutputTensor& output) noexcept {
  const std::optional<int64_t> count = element_count(output.shape);
  if (!count || output.shape.size() > kMaxRank) return false;
  if (output.datatype == DataType::kBytes)
    return are_texts({static_cast<const char*>(output.buffer.data), output.buffer.size_bytes}, *count);
  const uint64_t size = data_type_size_bytes(output.datatype);
  return size != 0 && static_cast<uint64_t>(*count) <= output.buffer.size_bytes / size &&
         static_cast<uint64_t>(*count) * size == output.buffer.size_bytes;
}

Status check_rows(const TakenTensor& output, int64_t rows) {
  if (!output.shape.empty() && output.shape[0] == rows) return {};
  return internal_error("the output '", output.name, "' has the shape ", shape_text(output.shape),
                        ", expected ", rows, " rows, one for each element of the request");
}

template <class Write>
Result<std::string> json_of(Write&& write) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  json.StartObject();
  ATOLL_RETURN_IF_ERROR(write(json));
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

Status write_rows(CheckedWriter& json, const std::vector<TakenTensor>& outputs, int64_t rows) {
  std::vector<ElementReader> readers(outputs.begin(), outputs.end());
  for (const TakenTensor& output : outputs) ATOLL_RETURN_IF_ERROR(check_rows(output, rows));
  const auto shape_of = [&](size_t i) { return std::span<const int64_t>(outputs[i].shape).subspan(1); };
  json.StartArray();
  for (int64_t row = 0; row < rows; ++row) {
    if (outputs.size() > 1) json.StartObject();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs.size() > 1) write_key(json, outputs[i].name);
      ATOLL_RETURN_IF_ERROR(readers[i].write_part(json, shape_of(i)));
    }
    if (outputs.size() > 1) json.EndObject();
  }
  json.EndArray();
  return {};
}

Status write_columns(CheckedWriter& json, const std::vector<TakenTensor>& outputs) {
  if (outputs.size() > 1) json.StartObject();
  for (const TakenTensor& output : outputs) {
    if (outputs.size() > 1) write_key(json, output.name);
    ATOLL_RETURN_IF_ERROR(ElementReader(output).write_part(json, output.shape));
  }
  if (outputs.size() > 1) json.EndObject();
  return {};
}

bool is_number(DataType type) noexcept {
  return type == DataType::kFp32 || type == DataType::kFp64 || type == DataType::kFp16 ||
         type == DataType::kBf16;
}

/// The output of this name, or the only one that `fits`.
template <class Fits>
const TakenTensor* find_output(const std::vector<TakenTensor>& outputs, std::string_view name, Fits&& fits) {
  const TakenTensor* only = nullptr;
  size_t count = 0;
  for (const TakenTensor& output : outputs) {
    if (!fits(output)) continue;
    if (output.name == name) return &output;
    only = &output;
    ++count;
  }
  return count == 1 ? only : nullptr;
}

/// How many values a row has.
int64_t width_of(const TakenTensor& output) noexcept {
  return element_count(std::span<const int64_t>(output.shape).subspan(1)).value_or(0);
}

const std::vector<std::string>* labels_of(const ModelInfo& model, const TakenTensor& scores) noexcept {
  for (const TensorSpec& spec : model.outputs) {
    if (spec.name == scores.name && !spec.labels.empty()) return &spec.labels;
  }
  return nullptr;
}

}  // namespace

Status append_output(const OutputTensor& output, std::vector<TakenTensor>& taken) {
  if (output.buffer.kind == MemoryKind::kGpu)
    return internal_error("the output '", output.name, "' is in memory of a GPU");
  ATOLL_RETURN_IF_ERROR(wait_until_ready(output.buffer));
  if (!fits_shape(output))
    return internal_error("the output '", output.name, "' has bytes that do not fit its shape ",
                          shape_text(output.shape));
  taken.push_back({std::string(output.name),
                   output.datatype,
                   {output.shape.begin(), output.shape.end()},
                   std::string(static_cast<const char*>(output.buffer.data), output.buffer.size_bytes)});
  return {};
}

Status join(TakenTensor more, std::vector<TakenTensor>& taken) {
  const auto found =
      std::find_if(taken.begin(), taken.end(), [&](const TakenTensor& one) { return one.name == more.name; });
  if (found == taken.end() || found->datatype != more.datatype || found->shape.size() != more.shape.size() ||
      more.shape.empty() || !std::equal(found->shape.begin() + 1, found->shape.end(), more.shape.begin() + 1))
    return internal_error("the output '", more.name, "' has the shape ", shape_text(more.shape),
                          ", which does not go with that of the rows before");
  found->shape[0] += more.shape[0];
  found->bytes += more.bytes;
  return {};
}

Result<std::string> predict_json(const std::vector<TakenTensor>& outputs, bool is_row, int64_t rows) {
  if (outputs.empty()) return internal_error("the model has given no output");
  return json_of([&](CheckedWriter& json) {
    write_key(json, is_row ? "predictions" : "outputs");
    return is_row ? write_rows(json, outputs, rows) : write_columns(json, outputs);
  });
}

Result<std::string> classify_json(const std::vector<TakenTensor>& outputs, const ModelInfo& model,
                                  int64_t rows) {
  const TakenTensor* const classes = find_output(
      outputs, "classes", [](const TakenTensor& one) { return one.datatype == DataType::kBytes; });
  const TakenTensor* const scores =
      find_output(outputs, "scores", [](const TakenTensor& one) { return is_number(one.datatype); });
  if (classes == nullptr && scores == nullptr)
    return invalid_argument(
        "the model '", model.name,
        "' cannot classify: expected an output 'classes' of BYTES, 'scores' of FP32, or both");
  for (const TakenTensor* one : {classes, scores}) {
    if (one != nullptr) ATOLL_RETURN_IF_ERROR(check_rows(*one, rows));
  }
  const int64_t width = width_of(classes != nullptr ? *classes : *scores);
  if (classes != nullptr && scores != nullptr && width_of(*scores) != width)
    return internal_error("the model has given ", width, " classes and ", width_of(*scores), " scores a row");
  const std::vector<std::string>* const labels = classes == nullptr ? labels_of(model, *scores) : nullptr;
  ElementReader class_reader(classes != nullptr ? *classes : *scores),
      score_reader(scores != nullptr ? *scores : *classes);
  return json_of([&](CheckedWriter& json) -> Status {
    write_key(json, "result");
    json.StartArray();
    for (int64_t row = 0; row < rows; ++row) {
      json.StartArray();
      for (int64_t i = 0; i < width; ++i) {
        json.StartArray();
        if (classes != nullptr) {
          ATOLL_RETURN_IF_ERROR(class_reader.write_next(json));
        } else {
          write_text(json, labels != nullptr && static_cast<size_t>(i) < labels->size()
                               ? (*labels)[static_cast<size_t>(i)]
                               : "");
        }
        if (scores != nullptr) {
          ATOLL_RETURN_IF_ERROR(score_reader.write_next(json));
        } else {
          write_floating(json, 0.0F);
        }
        json.EndArray();
      }
      json.EndArray();
    }
    json.EndArray();
    return {};
  });
}

Result<std::string> regress_json(const std::vector<TakenTensor>& outputs, int64_t rows) {
  const TakenTensor* const values =
      find_output(outputs, "outputs", [](const TakenTensor& one) { return is_number(one.datatype); });
  if (values == nullptr)
    return invalid_argument(
        "the model cannot regress: expected one output of FP32, or one with the name 'outputs'");
  ATOLL_RETURN_IF_ERROR(check_rows(*values, rows));
  if (width_of(*values) != 1)
    return invalid_argument("the model cannot regress: the output '", values->name, "' has ",
                            width_of(*values), " numbers a row, expected one");
  ElementReader reader(*values);
  return json_of([&](CheckedWriter& json) -> Status {
    write_key(json, "result");
    json.StartArray();
    for (int64_t row = 0; row < rows; ++row) ATOLL_RETURN_IF_ERROR(reader.write_next(json));
    json.EndArray();
    return {};
  });
}

}  // namespace atl::frontends::tfserving
