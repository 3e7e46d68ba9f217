#include "frontends/http/codec/tensor_json.h"

#include <rapidjson/internal/dtoa.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "atoll/request/number_type.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends::http {
namespace {

/// Room that any number takes at most, with its comma.
constexpr size_t kNumberBytes = 32;

char* put(char* to, std::string_view text) noexcept {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

template <class T>
char* put_number(char* to, T value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return put(to, value ? "true" : "false");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return put(to, "NaN");
    if (std::isinf(value)) return put(to, value < 0 ? "-Infinity" : "Infinity");
    // What Writer::Double() writes.
    return rapidjson::internal::dtoa(static_cast<double>(value), to);
  } else {
    return std::to_chars(to, to + kNumberBytes, value).ptr;
  }
}

template <class T>
T load(const char* from) noexcept {
  // The buffer need not be aligned, and a byte that is a bool may be any number.
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  Stored stored;
  std::memcpy(&stored, from, sizeof stored);
  return static_cast<T>(stored);
}

/// A single number goes through the writer, which knows what comes before it. Those of an array are put
/// behind each other without asking it: that is most of the time a response takes.
template <class T>
void write_numbers(const void* data, uint64_t count, bool bare, JsonWriter& writer, JsonOutput& out) {
  const auto* from = static_cast<const char*>(data);
  if (bare) {
    char text[kNumberBytes];
    const char* end = put_number(text, load<T>(from));
    writer.RawValue(text, static_cast<size_t>(end - text), rapidjson::kNumberType);
    return;
  }
  writer.StartArray();
  for (uint64_t i = 0; i < count && out.reserve(kNumberBytes); ++i) {
    char* to = out.space();
    if (i != 0) *to++ = ',';
    out.advance(static_cast<size_t>(put_number(to, load<T>(from + i * sizeof(T))) - out.space()));
  }
  writer.EndArray();
}

Status bad_texts(const OutputTensor& output, uint64_t element) {
  return internal_error("output '", output.name, "' of shape ", shape_text(output.shape), ": BYTES element ",
                        element, " does not fit the ", output.buffer.size_bytes, " bytes of the tensor");
}

Status write_texts(const OutputTensor& output, uint64_t count, bool bare, JsonWriter& writer) {
  if (!bare) writer.StartArray();
  std::string_view left(static_cast<const char*>(output.buffer.data), output.buffer.size_bytes);
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (left.size() < sizeof length) return bad_texts(output, i);
    std::memcpy(&length, left.data(), sizeof length);
    left.remove_prefix(sizeof length);
    if (left.size() < length) return bad_texts(output, i);
    const std::string_view text = left.substr(0, length);
    if (!is_valid_utf8(text)) {
      return invalid_argument("output '", output.name, "': BYTES element ", i,
                              " is not UTF-8 and cannot be sent as JSON. Please use the binary data format "
                              "for output");
    }
    writer.String(text.data(), length);
    left.remove_prefix(length);
  }
  if (!bare) writer.EndArray();
  return left.empty() ? Status() : bad_texts(output, count);
}

Status write_all(const OutputTensor& output, uint64_t count, bool bare, JsonWriter& writer, JsonOutput& out) {
  return visit_number_type(
      output.datatype,
      [&]<class T>(std::type_identity<T>) {
        write_numbers<T>(output.buffer.data, count, bare, writer, out);
        return Status();
      },
      [&] { return write_texts(output, count, bare, writer); });
}

}  // namespace

Status check_output(const OutputTensor& output, uint64_t* elements) {
  if (output.datatype == DataType::kInvalid) {
    return internal_error("output '", output.name, "' has no datatype");
  }
  if (output.buffer.kind == MemoryKind::kGpu && output.buffer.size_bytes != 0) {
    return internal_error("output '", output.name, "' is in GPU memory, expected CPU memory");
  }
  const std::optional<int64_t> count = element_count(output.shape);
  uint64_t expected = 0;
  const bool fits = count && !__builtin_mul_overflow(static_cast<uint64_t>(*count),
                                                     data_type_size_bytes(output.datatype), &expected);
  if (!fits || (output.datatype != DataType::kBytes && expected != output.buffer.size_bytes)) {
    return internal_error("output '", output.name, "' of type ", data_type_name(output.datatype),
                          " and shape ", shape_text(output.shape), " has ", output.buffer.size_bytes,
                          " bytes, its shape asks for ",
                          fits ? cat(expected) : std::string("more than 2^63"));
  }
  *elements = static_cast<uint64_t>(*count);
  return {};
}

Status write_elements(const OutputTensor& output, Brackets brackets, JsonWriter& writer, JsonOutput& out) {
  if (output.datatype == DataType::kFp16 || output.datatype == DataType::kBf16) {
    return invalid_argument(messages::no_json_output(data_type_name(output.datatype)));
  }
  uint64_t count = 0;
  ATOLL_RETURN_IF_ERROR(check_output(output, &count));
  return write_all(output, count, brackets == Brackets::kUnlessSingle && count == 1, writer, out);
}

void write_value(const Parameter& parameter, JsonWriter& writer) {
  switch (parameter.type) {
    case ParameterType::kInt:
      writer.Int64(parameter.int_value);
      break;
    case ParameterType::kBool:
      writer.Bool(parameter.bool_value);
      break;
    case ParameterType::kDouble:
      writer.Double(parameter.double_value);
      break;
    default:
      write_text(writer, parameter.text);
  }
}

}  // namespace atl::frontends::http
