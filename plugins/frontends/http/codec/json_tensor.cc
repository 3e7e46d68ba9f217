#include "frontends/http/codec/json_tensor.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "atoll/request/number_type.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/long_tensor.h"
#include "frontends/http/codec/nesting.h"
#include "frontends/http/codec/tensor_fault.h"

namespace atl::frontends::http {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian on the wire");

template <std::same_as<bool> T>
Fault store(const JsonDocument&, JsonElement value, T* to) noexcept {
  return value.get_bool().get(*to) == simdjson::SUCCESS ? Fault::kNone : Fault::kKind;
}

template <std::floating_point T>
Fault store(const JsonDocument& document, JsonElement value, T* to) noexcept {
  double number = 0;
  if (!document.number(value, &number)) return Fault::kKind;
  return narrow(number, to);
}

template <std::integral T>
requires(!std::same_as<T, bool>) Fault store(const JsonDocument& document, JsonElement value, T* to)
noexcept {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  Wide number = 0;
  if (value.get<Wide>().get(number) != simdjson::SUCCESS && !document.is_minus_zero(value))
    return Fault::kKind;
  return narrow(number, to);
}

/// Where the next element goes, and at the end the element that was refused.
template <class T>
struct Cells {
  const JsonDocument& document;
  T* at;
  T* end;
  Nesting nesting;
  JsonElement refused = {};
};

template <class T>
inline Fault fill_one(JsonElement value, Cells<T>& cells) noexcept {
  // Into a value of its own: the element behind the last one is refused, not written.
  T element{};
  const Fault fault = store<T>(cells.document, value, &element);
  if (fault != Fault::kNone) {
    cells.refused = value;
    return fault;
  }
  if (cells.at == cells.end) return Fault::kCount;
  *cells.at++ = element;
  return Fault::kNone;
}

/// Recursion is bounded by the depth the parser allows.
template <class T>
Fault fill_all(JsonArray array, Cells<T>& cells, size_t depth = 1) noexcept {
  const T* const begin = cells.at;
  uint64_t arrays = 0, in_arrays = 0;
  for (JsonElement value : array) {
    Fault fault = fill_one(value, cells);
    if (fault == Fault::kKind && value.is_array()) {
      JsonArray inner;
      const T* const before = cells.at;
      if (value.get_array().get(inner) == simdjson::SUCCESS) fault = fill_all(inner, cells, depth + 1);
      in_arrays += static_cast<uint64_t>(cells.at - before);
      ++arrays;
    }
    if (fault != Fault::kNone) return fault;
  }
  cells.nesting.array(depth, static_cast<uint64_t>(cells.at - begin) - in_arrays, arrays);
  return Fault::kNone;
}

std::string number_text(JsonElement value) {
  int64_t whole = 0;
  uint64_t large = 0;
  double number = 0;
  if (value.get_int64().get(whole) == simdjson::SUCCESS) return cat(whole);
  if (value.get_uint64().get(large) == simdjson::SUCCESS) return cat(large);
  return value.get_double().get(number) == simdjson::SUCCESS ? cat(number) : std::string("the value");
}

Status shape_mismatch() noexcept { return invalid_argument(messages::kDataShape); }

Status nesting_mismatch(const JsonTensor& tensor) noexcept {
  return invalid_argument("Unable to parse 'data': its nested arrays do not fit shape ",
                          shape_text(tensor.shape), " (input '", tensor.input, "')");
}

/// \param number  that is out of range
Status explain(const JsonTensor& tensor, Fault fault, JsonKind wanted, const std::string& number) noexcept {
  switch (fault) {
    case Fault::kNone:
      return {};
    case Fault::kCount:
      return shape_mismatch();
    case Fault::kNesting:
      return nesting_mismatch(tensor);
    case Fault::kRange:
      return invalid_argument("input '", tensor.input, "': ", number, " in 'data' is out of the range of ",
                              data_type_name(tensor.datatype));
    default:
      return invalid_argument("Unable to parse 'data': ", wrong_kind_text(wanted), " (input '", tensor.input,
                              "')");
  }
}

Status fill_long(const JsonTensor& tensor, const LongArray& array, void* memory, uint64_t elements) noexcept {
  std::string number;
  const Fault fault = fill_from_long_array(array, tensor.datatype, tensor.shape, memory, elements, &number);
  const bool is_signed = tensor.datatype >= DataType::kInt8 && tensor.datatype <= DataType::kInt64;
  const JsonKind wanted = tensor.datatype == DataType::kBool ? JsonKind::kBool
                          : tensor.datatype == DataType::kFp32 || tensor.datatype == DataType::kFp64
                              ? JsonKind::kNumber
                          : is_signed ? JsonKind::kInt
                                      : JsonKind::kUint;
  return explain(tensor, fault, wanted, number);
}

template <class T>
Status fill_numbers(const JsonTensor& tensor, JsonElement data, void* memory, uint64_t elements) noexcept {
  Cells<T> cells{tensor.document, static_cast<T*>(memory), static_cast<T*>(memory) + elements,
                 Nesting(tensor.shape)};
  JsonArray array;
  const bool is_array = data.get_array().get(array) == simdjson::SUCCESS;
  Fault fault = is_array ? fill_all(array, cells) : fill_one(data, cells);
  if (fault == Fault::kNone && cells.at != cells.end) fault = Fault::kCount;
  if (fault == Fault::kNone && elements != 0 && !cells.nesting.fits()) fault = Fault::kNesting;
  return explain(tensor, fault, kind_of<T>(), fault == Fault::kRange ? number_text(cells.refused) : "");
}

/// Calls visit(text) for every text; stops at a value that is none. \returns whether all were texts
template <class Visit>
bool for_each_text(JsonElement data, Visit& visit, Nesting& nesting, size_t depth = 1) noexcept {
  std::string_view text;
  if (data.get_string().get(text) == simdjson::SUCCESS) {
    visit(text);
    return true;
  }
  JsonArray array;
  if (data.get_array().get(array) != simdjson::SUCCESS) return false;
  uint64_t arrays = 0, texts = 0;
  for (JsonElement value : array) {
    ++(value.is_array() ? arrays : texts);
    if (!for_each_text(value, visit, nesting, depth + 1)) return false;
  }
  nesting.array(depth, texts, arrays);
  return true;
}

Status texts_size(const JsonTensor& tensor, JsonElement data, uint64_t elements, uint64_t* size) noexcept {
  uint64_t count = 0;
  uint64_t bytes = 0;
  Nesting nesting(tensor.shape);
  auto add = [&](std::string_view text) {
    ++count;
    bytes += sizeof(uint32_t) + text.size();
  };
  const LongArray* array = tensor.document.long_array(data);
  if (array != nullptr) {
    count = array->elements;
    bytes = sizeof(uint32_t) * count + array->text_bytes;
  }
  if (array != nullptr ? array->texts != count : !for_each_text(data, add, nesting)) {
    return invalid_argument("Unable to parse JSON bytes array: ", wrong_kind_text(JsonKind::kString),
                            " (input '", tensor.input, "')");
  }
  if (count != elements) return shape_mismatch();
  if (elements != 0 && !nesting.fits()) return nesting_mismatch(tensor);
  *size = bytes;
  return {};
}

void fill_texts(JsonElement data, void* memory) noexcept {
  auto* to = static_cast<char*>(memory);
  auto add = [&](std::string_view text) {
    const auto length = static_cast<uint32_t>(text.size());
    std::memcpy(to, &length, sizeof length);
    if (length != 0) std::memcpy(to + sizeof length, text.data(), length);
    to += sizeof length + length;
  };
  Nesting checked({});  // before
  (void)for_each_text(data, add, checked);
}

}  // namespace

Status JsonTensor::size_bytes(JsonElement data, uint64_t* size) const noexcept {
  if (datatype == DataType::kInvalid) return invalid_argument(messages::invalid_datatype(input));
  if (datatype == DataType::kFp16 || datatype == DataType::kBf16) {
    return invalid_argument(messages::no_json_input(data_type_name(datatype), input));
  }
  const std::optional<int64_t> elements = element_count(shape);
  if (!elements) return invalid_argument(messages::too_many_elements(input, shape_text(shape)));
  if (datatype == DataType::kBytes) return texts_size(*this, data, static_cast<uint64_t>(*elements), size);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*elements, static_cast<int64_t>(data_type_size_bytes(datatype)), &bytes)) {
    return invalid_argument(messages::byte_size_overflow(input, shape_text(shape), data_type_name(datatype)));
  }
  *size = static_cast<uint64_t>(bytes);
  return {};
}

Status JsonTensor::convert(JsonElement data, Arena& arena, OwnedBytes& owned,
                           InputTensor* tensor) const noexcept {
  uint64_t size = 0;
  ATOLL_RETURN_IF_ERROR(size_bytes(data, &size));
  if (size > max_bytes) return invalid_argument(messages::json_input_too_large(input, size, max_bytes));
  const auto elements = static_cast<uint64_t>(*element_count(shape));
  const LongArray* long_array = document.long_array(data);
  JsonArray array;
  const bool is_array = data.get_array().get(array) == simdjson::SUCCESS;
  // Every element takes a slot of the document at least.
  const uint64_t most = long_array != nullptr ? long_array->elements : is_array ? array.number_of_slots() : 1;
  if (elements > most) return shape_mismatch();

  void* memory = owned.allocate(arena, size);
  if (memory == nullptr) {
    return make_status(Code::kResourceExhausted, "no memory for the ", size, " bytes of input '", input, "'");
  }
  ATOLL_RETURN_IF_ERROR(long_array != nullptr ? fill_long(*this, *long_array, memory, elements)
                                              : fill(data, memory, elements));
  tensor->size_bytes = size;
  tensor->buffers = {};
  if (size == 0) return {};
  auto* buffer = arena.make<Buffer>();
  buffer->data = memory;
  buffer->size_bytes = size;
  tensor->buffers = {buffer, 1};
  return {};
}

Status JsonTensor::fill(JsonElement data, void* memory, uint64_t elements) const noexcept {
  return visit_number_type(
      datatype,
      [&]<class T>(std::type_identity<T>) { return fill_numbers<T>(*this, data, memory, elements); },
      [&] {
        fill_texts(data, memory);
        return Status();
      });
}

}  // namespace atl::frontends::http
