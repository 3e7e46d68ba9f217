#include "backends/cuda/code/argument_reader.h"

#include <bit>
#include <charconv>
#include <limits>

#include "atoll/core/text.h"

namespace atl::cuda_backend {
namespace {

struct TypeName {
  std::string_view name;
  ScalarType type;
};
constexpr TypeName kTypes[] = {{"i32", ScalarType::kI32}, {"u32", ScalarType::kU32},
                               {"i64", ScalarType::kI64}, {"u64", ScalarType::kU64},
                               {"f32", ScalarType::kF32}, {"f64", ScalarType::kF64}};

std::optional<ScalarType> type_of(std::string_view name) {
  for (const TypeName& known : kTypes) {
    if (known.name == name) return known.type;
  }
  return {};
}
bool is_float(ScalarType type) { return type == ScalarType::kF32 || type == ScalarType::kF64; }

/// "in", "IMAGE" of "in:IMAGE"; without a colon the second is empty.
std::pair<std::string_view, std::string_view> split(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

template <class Named>
std::optional<uint32_t> find_named(const std::vector<Named>& all, std::string_view name) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return static_cast<uint32_t>(i);
  }
  return {};
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <class Number, class Bits>
bool parse_bits(std::string_view text, uint64_t& bits) {
  Number number = 0;
  if (!parse_number(text, number)) return false;
  bits = std::bit_cast<Bits>(number);
  return true;
}

/// A number as it stands. \return false: it is none of the type
bool read_value(std::string_view text, ScalarType type, uint64_t& bits) {
  switch (type) {
    case ScalarType::kI32:
      return parse_bits<int32_t, uint32_t>(text, bits);
    case ScalarType::kU32:
      return parse_bits<uint32_t, uint32_t>(text, bits);
    case ScalarType::kI64:
      return parse_bits<int64_t, uint64_t>(text, bits);
    case ScalarType::kU64:
      return parse_bits<uint64_t, uint64_t>(text, bits);
    case ScalarType::kF32:
      return parse_bits<float, uint32_t>(text, bits);
    case ScalarType::kF64:
      return parse_bits<double, uint64_t>(text, bits);
  }
  return false;
}

Status read_parameter(std::string_view text, const ModelDescription& model, Argument& argument) {
  argument.type = ScalarType::kF32;
  auto [type, name] = split(text);
  if (const std::optional<ScalarType> named = name.empty() ? std::nullopt : type_of(type)) {
    argument.type = *named;
  } else {
    name = text;  // a parameter's name may have a colon
  }
  const auto found = model.parameters.find(name);
  if (found == model.parameters.end())
    return invalid_argument("found '", argument.text, "', expected a parameter of the model's configuration");
  if (read_value(found->second, argument.type, argument.bits)) return {};
  std::string_view expected;
  for (const TypeName& known : kTypes) {
    if (known.type == argument.type) expected = known.name;
  }
  return invalid_argument("'", argument.text, "': found the parameter's value '", found->second,
                          "', expected a number of type ", expected);
}

Status read_scalar(std::string_view text, ScalarType type, const Pipeline& pipeline, Argument& argument) {
  argument.type = type;
  if (is_float(type)) {
    if (read_value(text, type, argument.bits)) return {};
    return invalid_argument("found '", argument.text, "', expected a number of that type");
  }
  Result<Expression> expression = Expression::parse(text, pipeline.table);
  if (!expression.ok()) return std::move(expression).status();
  if (expression->is_constant()) {
    const Result<int64_t> value = expression->evaluate(BatchExtents({}));
    if (!value.ok()) return value.status().clone();
    ATOLL_RETURN_IF_ERROR(check_fits(argument.text, value.value(), type));
  }
  argument.expression = std::move(*expression);
  return {};
}

}  // namespace

Status check_range(std::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return invalid_argument(what, ": found ", value, ", expected a number from ", least, " to ", most);
}

Status check_fits(std::string_view what, int64_t value, ScalarType type) {
  switch (type) {
    case ScalarType::kI32:
      return check_range(what, value, std::numeric_limits<int32_t>::min(),
                         std::numeric_limits<int32_t>::max());
    case ScalarType::kU32:
      return check_range(what, value, 0, std::numeric_limits<uint32_t>::max());
    case ScalarType::kU64:
      return check_range(what, value, 0, std::numeric_limits<int64_t>::max());
    default:
      return {};
  }
}

Result<BufferRef> read_buffer(std::string_view text, const Pipeline& pipeline, bool writes) {
  const auto [kind, name] = split(text);
  std::optional<uint32_t> index;
  BufferRef buffer;
  if (kind == "in" || kind == "out") {
    const bool output = kind == "out";
    index = pipeline.table.find(name, output);
    buffer.kind = BufferKind::kTensor;
    if (!index) {
      return invalid_argument(
          "found '", text, "', expected an ", output ? "output" : "input", " of the model",
          pipeline.table.find(name, !output) ? cat("; it is an ", output ? "input" : "output") : "");
    }
  } else if (kind == "scratch") {
    index = find_named(pipeline.scratch, name);
    buffer.kind = BufferKind::kScratch;
    if (!index) return invalid_argument("found '", text, "', expected a table [scratch.", name, "]");
  } else if (kind == "constant") {
    index = find_named(pipeline.constants, name);
    buffer.kind = BufferKind::kConstant;
    if (!index) return invalid_argument("found '", text, "', expected a table [constant.", name, "]");
  } else {
    return invalid_argument("found '", text, "', expected in:, out:, scratch: or constant: and a name");
  }
  if (writes && (kind == "in" || kind == "constant"))
    return invalid_argument("found '", text, "', expected out: or scratch:, which may be written to");
  buffer.index = *index;
  return buffer;
}

Result<Argument> read_argument(const std::string& text, const Pipeline& pipeline,
                               const ModelDescription& model) {
  Argument argument;
  argument.text = text;
  const auto [kind, rest] = split(text);
  if (text == "null") {
    argument.is_buffer = true;
    return argument;
  }
  if (kind == "param") {
    ATOLL_RETURN_IF_ERROR(read_parameter(rest, model, argument));
    return argument;
  }
  if (const std::optional<ScalarType> type = type_of(kind)) {
    ATOLL_RETURN_IF_ERROR(read_scalar(rest, *type, pipeline, argument));
    return argument;
  }
  if (kind != "in" && kind != "out" && kind != "scratch" && kind != "constant") {
    return invalid_argument(
        "found '", text,
        "', expected in:, out:, scratch:, constant:, i32:, u32:, i64:, u64:, f32:, f64: or "
        "param: and what is meant, or null");
  }
  Result<BufferRef> buffer = read_buffer(text, pipeline, /*writes=*/false);
  if (!buffer.ok()) return std::move(buffer).status();
  argument.is_buffer = true;
  argument.buffer = *buffer;
  return argument;
}

}  // namespace atl::cuda_backend
