#include "common/config_view.h"

#include <charconv>
#include <limits>
#include <utility>

namespace atl::backends {

Result<ConfigView> ConfigView::parse(std::string_view serialized) {
  ConfigView view;
  if (serialized.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !view.config_.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return internal_error("model configuration: ", serialized.size(),
                          " bytes that are not a serialized inference.ModelConfig");
  }
  return view;
}

std::optional<std::string_view> ConfigView::parameter(std::string_view key) const {
  auto found = config_.parameters().find(std::string(key));
  if (found == config_.parameters().end()) return std::nullopt;
  return std::string_view(found->second.string_value());
}

Result<int64_t> ConfigView::int_parameter(std::string_view key, int64_t fallback, int64_t minimum,
                                          int64_t maximum) const {
  std::optional<std::string_view> text = parameter(key);
  if (!text) return fallback;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < minimum || value > maximum) {
    return invalid_argument("model '", name(), "': parameter '", key, "' is '", *text,
                            "', expected a whole number from ", minimum, " to ", maximum);
  }
  return value;
}

Result<bool> ConfigView::bool_parameter(std::string_view key, bool fallback) const {
  std::optional<std::string_view> text = parameter(key);
  if (!text) return fallback;
  if (*text == "true" || *text == "1") return true;
  if (*text == "false" || *text == "0") return false;
  return invalid_argument("model '", name(), "': parameter '", key, "' is '", *text,
                          "', expected 'true', 'false', '1' or '0'");
}

}  // namespace atl::backends
