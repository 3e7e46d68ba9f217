#include "frontends/common/codec/typed_contents.h"

#include <bit>

#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian on the wire");

constexpr uint32_t kListCount = 8;
constexpr uint32_t kBytesList = 8;
constexpr uint32_t kContentsField = 5;  ///< of an input

/// How the elements of a list are encoded, by field number.
constexpr WireType element_type(uint32_t field) noexcept {
  if (field == 6) return WireType::kFixed32;
  if (field == 7) return WireType::kFixed64;
  return field == kBytesList ? WireType::kLength : WireType::kVarint;
}

/// The datatype a list stands for, given what the input declares: small integers travel in 32-bit lists.
constexpr DataType list_datatype(uint32_t field, DataType declared) noexcept {
  constexpr DataType kTypes[kListCount + 1] = {DataType::kInvalid, DataType::kBool,   DataType::kInt32,
                                               DataType::kInt64,   DataType::kUint32, DataType::kUint64,
                                               DataType::kFp32,    DataType::kFp64,   DataType::kBytes};
  if (field == 2 && (declared == DataType::kInt8 || declared == DataType::kInt16)) return declared;
  if (field == 4 && (declared == DataType::kUint8 || declared == DataType::kUint16)) return declared;
  return kTypes[field];
}

bool read_number(WireReader& reader, WireType type, uint64_t* value) noexcept {
  if (type == WireType::kVarint) return reader.read_varint(value);
  if (type == WireType::kFixed64) return reader.read_fixed64(value);
  uint32_t narrow = 0;
  if (!reader.read_fixed32(&narrow)) return false;
  *value = narrow;
  return true;
}

/// Calls visitor.number(field, value) and visitor.bytes(field, reader) for every element of every list.
/// \returns false for malformed input.
template <class Visitor>
bool visit_elements(WireReader message, Visitor& visitor) noexcept {
  while (!message.at_end()) {
    uint32_t field = 0;
    WireType type{};
    if (!message.read_tag(&field, &type)) return false;
    const bool is_list = field <= kListCount;
    uint64_t value = 0;
    if (is_list && field != kBytesList && type == element_type(field)) {
      if (!read_number(message, type, &value)) return false;
      visitor.number(field, value);
    } else if (is_list && type == WireType::kLength) {
      WireReader inner;
      if (!message.open(&inner)) return false;
      if (field == kBytesList) {
        visitor.bytes(field, inner);
        continue;
      }
      if (visitor.packed(field, inner)) continue;
      while (!inner.at_end()) {
        if (!read_number(inner, element_type(field), &value)) return false;
        visitor.number(field, value);
      }
    } else if (!message.skip_value(type)) {
      return false;
    }
  }
  return true;
}

/// The same for all pieces.
template <class Visitor>
bool visit_pieces(const TypedContents& contents, Visitor& visitor) noexcept {
  if (!visit_elements(contents.first, visitor)) return false;
  WireReader behind = contents.behind;
  while (!behind.at_end()) {
    uint32_t field = 0;
    WireType type{};
    WireReader piece;
    if (!behind.read_tag(&field, &type)) return false;
    if (field == kContentsField && type == WireType::kLength) {
      if (!behind.open(&piece) || !visit_elements(piece, visitor)) return false;
    } else if (!behind.skip_value(type)) {
      return false;
    }
  }
  return true;
}

/// First pass: how much of what there is.
struct Counter {
  uint64_t elements[kListCount + 1] = {};
  uint64_t text_bytes = 0;
  void number(uint32_t field, uint64_t) noexcept { ++elements[field]; }
  void bytes(uint32_t field, const WireReader& value) noexcept {
    ++elements[field];
    text_bytes += value.left();
  }
  bool packed(uint32_t, const WireReader&) noexcept { return false; }
};

/// The same for integers of less than 32 bits, which the list's elements may be too large for.
struct NarrowCounter : Counter {
  int64_t least, most;
  uint64_t outside_count = 0;
  int64_t outside = 0;  ///< the first one
  explicit NarrowCounter(DataType type) noexcept {
    const uint32_t bits = 8 * data_type_size_bytes(type);
    const bool is_signed = type == DataType::kInt8 || type == DataType::kInt16;
    least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    most = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  }
  void number(uint32_t field, uint64_t value) noexcept {
    Counter::number(field, value);
    // As protobuf reads it: 32 bits, signed in one list and not in the other.
    const int64_t element =
        least < 0 ? int64_t{static_cast<int32_t>(value)} : int64_t{static_cast<uint32_t>(value)};
    if ((element < least || element > most) && outside_count++ == 0) outside = element;
  }
};

constexpr bool is_narrow(DataType type) noexcept {
  return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kUint8 ||
         type == DataType::kUint16;
}

/// Second pass: one list into memory that the first pass has measured.
struct Writer {
  uint32_t wanted;
  uint32_t element_bytes;
  uint8_t* to;
  void number(uint32_t field, uint64_t value) noexcept {
    if (field != wanted) return;
    if (field == 1) value = value != 0 ? 1 : 0;
    std::memcpy(to, &value, element_bytes);
    to += element_bytes;
  }
  void bytes(uint32_t field, WireReader value) noexcept {
    if (field != wanted) return;
    auto size = static_cast<uint32_t>(value.left());
    std::memcpy(to, &size, sizeof size);
    value.copy(to + sizeof size, size);
    to += sizeof size + size;
  }
  /// Floats are packed as they are wanted: one copy instead of a call an element.
  bool packed(uint32_t field, WireReader list) noexcept {
    if (element_type(field) == WireType::kVarint) return false;
    if (field != wanted) return true;
    uint64_t size = list.left();
    list.copy(to, size);
    to += size;
    return true;
  }
};

/// The one list that is given, 0 for none.
Status choose_list(const Counter& counted, const TypedContents& contents, uint32_t* chosen) noexcept {
  *chosen = 0;
  for (uint32_t field = 1; field <= kListCount; ++field) {
    if (counted.elements[field] == 0) continue;
    if (*chosen != 0) {
      return Status(Code::kInvalidArgument, messages::second_list(contents.input, contents.model));
    }
    DataType type = list_datatype(field, contents.datatype);
    if (type != contents.datatype) {
      return Status(Code::kInvalidArgument,
                    messages::wrong_list(contents.input, contents.model, data_type_name(type),
                                         data_type_name(contents.datatype)));
    }
    *chosen = field;
  }
  return {};
}

}  // namespace

Status TypedContents::convert(Arena& arena, OwnedBytes& owned, CopyLimit limit,
                              InputTensor* tensor) const noexcept {
  NarrowCounter counted(is_narrow(datatype) ? datatype : DataType::kInt8);
  // Others need not be compared with anything.
  Counter& counter = counted;
  if (!(is_narrow(datatype) ? visit_pieces(*this, counted) : visit_pieces(*this, counter))) {
    return invalid_argument("the message is not a valid inference.ModelInferRequest: the contents of input '",
                            input, "' are cut short or not well formed");
  }
  uint32_t list = 0;
  ATOLL_RETURN_IF_ERROR(choose_list(counted, *this, &list));
  if (counted.outside_count != 0) {
    return invalid_argument("input '", input, "' for model '", model, "': ", counted.outside,
                            " in the contents is out of the range of ", data_type_name(datatype));
  }
  tensor->size_bytes = 0;
  tensor->buffers = {};
  if (list == 0) return {};

  const uint32_t element_bytes = list == kBytesList ? sizeof(uint32_t) : data_type_size_bytes(datatype);
  const uint64_t size =
      counted.elements[list] * element_bytes + (list == kBytesList ? counted.text_bytes : 0);
  if (size > limit.bytes) {
    return invalid_argument("the contents of input '", input, "' for model '", model, "' take ", size,
                            " bytes as a tensor, which with the inputs before it is more than option ",
                            limit.option, " allows; raw_input_contents take no more than they are sent as");
  }
  void* memory = owned.allocate(arena, size);
  if (memory == nullptr) {
    return make_status(Code::kResourceExhausted, "no memory for the ", size, " bytes of input '", input,
                       "' for model '", model, "'");
  }
  Writer writer{list, element_bytes, static_cast<uint8_t*>(memory)};
  visit_pieces(*this, writer);
  auto* buffer = arena.make<Buffer>();
  buffer->data = memory;
  buffer->size_bytes = size;
  tensor->buffers = {buffer, 1};
  tensor->size_bytes = size;
  return {};
}

}  // namespace atl::frontends
