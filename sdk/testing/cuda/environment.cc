#include "environment.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace atl::cuda_double {

std::string variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

[[noreturn]] void refuse(std::string_view name, std::string_view value) {
  std::fprintf(stderr, "CUDA double: %.*s: found \"%.*s\"\n", static_cast<int>(name.size()), name.data(),
               static_cast<int>(value.size()), value.data());
  std::abort();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

uint64_t to_number(std::string_view name, std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) refuse(name, text);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.empty()) return number;
  if (unit == "KiB") return number << 10;
  if (unit == "MiB") return number << 20;
  if (unit == "GiB") return number << 30;
  refuse(name, text);
}

uint64_t number(const char* name, const char* fallback) {
  const std::string text = variable(name, fallback);
  return to_number(name, text.empty() ? fallback : text);
}

PerDevice::PerDevice(const char* name, const char* fallback)
    : name_(name), values_(split(variable(name, fallback), ',')) {
  if (values_.empty()) values_ = {fallback};
}

const std::string& PerDevice::text(size_t device) const {
  return values_[std::min(device, values_.size() - 1)];
}

uint64_t PerDevice::number(size_t device) const { return to_number(name_, text(device)); }

std::vector<FailureText> failure_texts(const char* name) {
  std::vector<FailureText> planned;
  for (const std::string& one : split(variable(name), ',')) {
    const std::vector<std::string> parts = split(one, ':');
    if (parts.size() != 3) refuse(name, one);
    planned.push_back({parts[0], to_number(name, parts[1]), to_number(name, parts[2])});
  }
  return planned;
}

}  // namespace atl::cuda_double
