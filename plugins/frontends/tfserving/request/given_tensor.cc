#include "frontends/tfserving/request/given_tensor.h"

#include <google/protobuf/stubs/strutil.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/tfserving/request/small_floats.h"

namespace atl::frontends::tfserving {
namespace {

template <class T>
void append_raw(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string_view kind_of(const CheckedValue& value) noexcept {
  if (value.IsNull()) return "null";
  if (value.IsBool()) return "a bool";
  if (value.IsString()) return "a string";
  if (value.IsArray()) return "a list";
  if (value.IsObject()) return is_base64(value) ? "base64" : "an object";
  return value.IsDouble() ? "a number with a fraction or exponent" : "an integer";
}

}  // namespace

bool is_base64(const CheckedValue& value) noexcept {
  return value.IsObject() && value.MemberCount() == 1 && value.MemberBegin()->name == "b64" &&
         value.MemberBegin()->value.IsString();
}

std::string_view GivenTensor::rows(int64_t first, int64_t count) const noexcept {
  const auto begin = static_cast<size_t>(first), end = static_cast<size_t>(first + count);
  const std::string_view all = bytes;
  if (datatype == DataType::kBytes) return all.substr(row_begins[begin], row_begins[end] - row_begins[begin]);
  const size_t row = shape[0] == 0 ? 0 : bytes.size() / static_cast<size_t>(shape[0]);
  return all.substr(begin * row, (end - begin) * row);
}

TensorBuilder::TensorBuilder(std::string name, DataType datatype, uint64_t& budget) : budget_(budget) {
  tensor_.name = std::move(name);
  tensor_.datatype = datatype;
}

Status TensorBuilder::add_row(int64_t row, const CheckedValue& value) {
  if (rows_ != row)
    return invalid_argument("input '", tensor_.name, "' has ",
                            rows_ > row ? "two values here" : "no value in an earlier element",
                            ", expected one in each");
  if (tensor_.datatype == DataType::kBytes) tensor_.row_begins.push_back(tensor_.bytes.size());
  at_.assign(1, rows_++);
  return add(value, 0);
}

Status TensorBuilder::set_all(const CheckedValue& value) {
  if (std::exchange(is_whole_, true)) return invalid_argument("input '", tensor_.name, "' is there twice");
  if (!value.IsArray()) {
    // A scalar has no rows.
    return add_element(value);
  }
  for (const CheckedValue& row : value.GetArray()) ATOLL_RETURN_IF_ERROR(add_row(rows_, row));
  tensor_.shape = {rows_};
  return {};
}

GivenTensor TensorBuilder::finish() && {
  if (rows_ > 0 || !tensor_.shape.empty()) tensor_.shape = {rows_};
  for (const int64_t length : lengths_) tensor_.shape.push_back(length);
  if (tensor_.datatype == DataType::kBytes && !tensor_.shape.empty())
    tensor_.row_begins.push_back(tensor_.bytes.size());
  return std::move(tensor_);
}

Status TensorBuilder::add(const CheckedValue& value, size_t depth) {
  if (!value.IsArray()) {
    if (depth < lengths_.size()) return wrong(kind_of(value), "a list, as in the first place");
    has_rank_ = true;
    return add_element(value);
  }
  // With the dimension of the rows.
  if (depth + 2 > kMaxRank) return wrong("a list", cat("at most ", kMaxRank, " dimensions"));
  if (depth == lengths_.size()) {
    if (has_rank_) return wrong("a list", "one value, as in the first place");
    lengths_.push_back(value.Size());
    if (value.Empty()) has_rank_ = true;
  }
  if (lengths_[depth] != value.Size())
    return wrong(cat("a list of ", value.Size()), cat("one of ", lengths_[depth], ", as in the first place"));
  at_.push_back(0);
  for (const CheckedValue& item : value.GetArray()) {
    ATOLL_RETURN_IF_ERROR(add(item, depth + 1));
    ++at_.back();
  }
  at_.pop_back();
  return {};
}

Status TensorBuilder::add_element(const CheckedValue& value) {
  if (budget_ == 0)
    return invalid_argument("the request has more elements than the option max_elements allows");
  --budget_;
  switch (tensor_.datatype) {
    case DataType::kBool:
      if (!value.IsBool()) return wrong(kind_of(value), "true or false (BOOL)");
      tensor_.bytes.push_back(value.GetBool() ? 1 : 0);
      return {};
    case DataType::kUint8:
      return add_integer<uint8_t>(value);
    case DataType::kUint16:
      return add_integer<uint16_t>(value);
    case DataType::kUint32:
      return add_integer<uint32_t>(value);
    case DataType::kUint64:
      return add_integer<uint64_t>(value);
    case DataType::kInt8:
      return add_integer<int8_t>(value);
    case DataType::kInt16:
      return add_integer<int16_t>(value);
    case DataType::kInt32:
      return add_integer<int32_t>(value);
    case DataType::kInt64:
      return add_integer<int64_t>(value);
    case DataType::kBytes:
      return add_bytes(value);
    default:
      return add_floating(value);
  }
}

template <class Integer>
Status TensorBuilder::add_integer(const CheckedValue& value) {
  const auto expected = [&] {
    return cat("an integer from ", std::numeric_limits<Integer>::min(), " to ",
               std::numeric_limits<Integer>::max(), " (", data_type_name(tensor_.datatype), ")");
  };
  if (value.IsInt64() && std::in_range<Integer>(value.GetInt64())) {
    append_raw(tensor_.bytes, static_cast<Integer>(value.GetInt64()));
  } else if (value.IsUint64() && std::in_range<Integer>(value.GetUint64())) {
    append_raw(tensor_.bytes, static_cast<Integer>(value.GetUint64()));
  } else {
    return wrong(value.IsInt64()    ? cat(value.GetInt64())
                 : value.IsUint64() ? cat(value.GetUint64())
                                    : std::string(kind_of(value)),
                 expected());
  }
  return {};
}

Status TensorBuilder::add_floating(const CheckedValue& value) {
  if (!value.IsNumber())
    return wrong(kind_of(value), cat("a number (", data_type_name(tensor_.datatype), ")"));
  const double number = value.GetDouble();
  const auto narrow = static_cast<float>(number);
  if (tensor_.datatype == DataType::kFp64) {
    append_raw(tensor_.bytes, number);
    return {};
  }
  // As the model gets it: a type of fewer bits may have no number of this size, though FP32 has.
  const uint16_t small = tensor_.datatype == DataType::kFp16 ? half_of(narrow) : bfloat_of(narrow);
  const float kept = tensor_.datatype == DataType::kFp16   ? float_of_half(small)
                     : tensor_.datatype == DataType::kBf16 ? float_of_bfloat(small)
                                                           : narrow;
  if (std::isfinite(number) && !std::isfinite(kept))
    return wrong("a number out of range", cat("one of ", data_type_name(tensor_.datatype)));
  if (tensor_.datatype == DataType::kFp32) {
    append_raw(tensor_.bytes, narrow);
  } else {
    append_raw(tensor_.bytes, small);
  }
  return {};
}

Status TensorBuilder::add_bytes(const CheckedValue& value) {
  constexpr std::string_view kExpected = "a string or {\"b64\": \"<base64>\"} (BYTES)";
  std::string decoded;
  std::string_view text;
  if (value.IsString()) {
    text = {value.GetString(), value.GetStringLength()};
  } else if (is_base64(value)) {
    const CheckedValue& coded = value.MemberBegin()->value;
    if (coded.GetStringLength() != 0 &&
        !google::protobuf::Base64Unescape({coded.GetString(), coded.GetStringLength()}, &decoded))
      return wrong("a text that is no base64", kExpected);
    text = decoded;
  } else {
    return wrong(kind_of(value), kExpected);
  }
  append_raw(tensor_.bytes, static_cast<uint32_t>(text.size()));
  tensor_.bytes += text;
  return {};
}

Status TensorBuilder::wrong(std::string_view found, std::string_view expected) const {
  return invalid_argument("input '", tensor_.name, "'", place(), ": found ", found, ", expected ", expected);
}

std::string TensorBuilder::place() const {
  std::string text = at_.empty() ? "" : " at ";
  for (const int64_t index : at_) text += cat("[", index, "]");
  return text;
}

}  // namespace atl::frontends::tfserving
