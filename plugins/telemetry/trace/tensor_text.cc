#include "telemetry/trace/tensor_text.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "atoll/request/number_type.h"

namespace atl::tracing {
namespace {

void separate(std::string& out) {
  if (!out.empty()) out.push_back(',');
}

template <class T, class Shown>
std::string numbers(std::string_view bytes, Shown shown) {
  std::string out;
  for (; bytes.size() >= sizeof(T); bytes.remove_prefix(sizeof(T))) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    separate(out);
    text_detail::append(out, shown(value));
  }
  return out;
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float from_fp16(uint16_t bits) {
  float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  int exponent = (bits >> 10) & 31;
  auto fraction = static_cast<float>(bits & 1023);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::string texts(std::string_view bytes) {
  CheckedBuffer buffer;
  std::string out;
  uint32_t size = 0;
  while (bytes.size() >= sizeof size) {
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (size > bytes.size()) break;  // cut, or not what it says it is
    buffer.Clear();
    CheckedWriter json(buffer);
    write_text(json, bytes.substr(0, size));
    separate(out);
    out.append(buffer.GetString(), buffer.GetSize());
    bytes.remove_prefix(size);
  }
  return out;
}

std::string values_text(const RecordedTensor& tensor) {
  const std::string& bytes = tensor.bytes;
  return visit_number_type(
      tensor.datatype,
      [&]<class T>(std::type_identity<T>) {
        // A byte is a number and no character, and one that is a bool may be any number.
        using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
        return numbers<Stored>(bytes, [](Stored value) {
          if constexpr (std::is_same_v<T, bool>) {
            return value == 0 ? 0 : 1;
          } else if constexpr (sizeof(T) == 1) {
            return int32_t{value};
          } else {
            return value;
          }
        });
      },
      [&] {
        if (tensor.datatype == DataType::kFp16) return numbers<uint16_t>(bytes, from_fp16);
        if (tensor.datatype == DataType::kBf16) return numbers<uint16_t>(bytes, from_bf16);
        return tensor.datatype == DataType::kBytes ? texts(bytes) : std::string();
      });
}

}  // namespace

std::string tensor_text(const RecordedTensor& tensor) {
  std::string text = values_text(tensor);
  if (tensor.cut) {
    separate(text);
    text += "...";
  }
  return text;
}

std::string dims_text(const RecordedTensor& tensor) {
  std::string text;
  for (int64_t dim : tensor.shape) {
    separate(text);
    text_detail::append(text, dim);
  }
  return text;
}

}  // namespace atl::tracing
