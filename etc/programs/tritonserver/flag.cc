#include "flag.h"

#include "values.h"

namespace atl::tritonserver {
namespace {

bool is_integer(ValueType type) {
  return type == ValueType::kInteger || type == ValueType::kBytes || type == ValueType::kSeconds ||
         type == ValueType::kMilliseconds;
}

/// Integers of flags are 32 bits wide, sizes 64.
Result<int64_t> integer_of(ValueType type, std::string_view text) {
  if (type != ValueType::kBytes) return parse_integer(text);
  return parse_integer(text, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
}

Status check_value(ValueType type, std::string_view text) {
  if (is_integer(type)) return integer_of(type, text).status().clone();
  switch (type) {
    case ValueType::kBool:
      return parse_bool(text).status().clone();
    case ValueType::kNumber:
      return parse_number(text).status().clone();
    case ValueType::kPair:
      return parse_pair(text).status().clone();
    default:
      return {};
  }
}

Status set_integer(const FlagEffect& effect, FlagUse& use) {
  auto value = integer_of(effect.type, use.value);
  if (!value.ok()) return std::move(value).status();
  if (*value < effect.minimum || *value > effect.maximum) {
    return invalid_argument("found ", *value, ", expected ", effect.minimum, " to ", effect.maximum);
  }
  if (effect.type == ValueType::kSeconds) {
    use.options.keys.set(effect.key, cat(*value, "s"));
  } else if (effect.type == ValueType::kMilliseconds) {
    use.options.keys.set(effect.key, cat(*value, "ms"));
  } else {
    use.options.keys.set(effect.key, *value);
  }
  return {};
}

Status set_key(const FlagEffect& effect, FlagUse& use) {
  if (is_integer(effect.type)) return set_integer(effect, use);
  if (effect.type == ValueType::kBool) {
    auto value = parse_bool(use.value);
    if (!value.ok()) return std::move(value).status();
    use.options.keys.set(effect.key, *value);
  } else {
    use.options.keys.set(effect.key, use.value);
  }
  return {};
}

}  // namespace

Status apply(const Flag& flag, FlagUse& use) {
  const FlagEffect& effect = flag.effect;
  switch (effect.kind) {
    case FlagEffect::Kind::kKey:
      return set_key(effect, use);
    case FlagEffect::Kind::kOwn:
      return effect.read(use);
    case FlagEffect::Kind::kNothing:
      ATOLL_RETURN_IF_ERROR(check_value(effect.type, use.value));
      use.options.warn("--", flag.name, " has no effect: ", effect.why);
      return {};
    case FlagEffect::Kind::kRefused:
      ATOLL_RETURN_IF_ERROR(effect.read != nullptr ? effect.read(use) : check_value(effect.type, use.value));
      use.options.refuse("--", flag.name, " is not served: ", effect.why);
      return {};
    case FlagEffect::Kind::kMustBeOff:
      break;
  }
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  if (*on) use.options.refuse("--", flag.name, "=true is not served: ", effect.why);
  return {};
}

}  // namespace atl::tritonserver
