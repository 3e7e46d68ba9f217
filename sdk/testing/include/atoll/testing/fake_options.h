/// Options set by a test instead of read from a manifest.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "atoll/core/options.h"

namespace atl::test {

/// Set everything before the plugin is made; after that it is read-only and so [any]. A missing key or one
/// of another type ends the process with a message, as it does in the server.
class FakeOptions final : public Options {
 public:
  virtual ~FakeOptions() = default;
  FakeOptions& set_bool(std::string key, bool value) { return put<0>(std::move(key), value); }
  FakeOptions& set_int(std::string key, int64_t value) { return put<1>(std::move(key), value); }
  FakeOptions& set_float(std::string key, double value) { return put<2>(std::move(key), value); }
  FakeOptions& set_string(std::string key, std::string value) {
    return put<3>(std::move(key), std::move(value));
  }
  FakeOptions& set_duration_ns(std::string key, int64_t value) { return put<4>(std::move(key), value); }
  FakeOptions& set_bytes(std::string key, uint64_t value) { return put<5>(std::move(key), value); }
  FakeOptions& set_strings(std::string key, std::vector<std::string> value) {
    return put<6>(std::move(key), std::move(value));
  }
  FakeOptions& set_map(std::string key, std::map<std::string, std::string> value) {
    return put<7>(std::move(key), std::move(value));
  }

  bool has(std::string_view key) const noexcept { return values_.find(key) != values_.end(); }

  bool get_bool(std::string_view key) const noexcept override { return get<0>(key); }
  int64_t get_int(std::string_view key) const noexcept override { return get<1>(key); }
  double get_float(std::string_view key) const noexcept override { return get<2>(key); }
  const std::string& get_string(std::string_view key) const noexcept override { return get<3>(key); }
  int64_t get_duration_ns(std::string_view key) const noexcept override { return get<4>(key); }
  uint64_t get_bytes(std::string_view key) const noexcept override { return get<5>(key); }
  const std::vector<std::string>& get_strings(std::string_view key) const noexcept override {
    return get<6>(key);
  }
  const std::map<std::string, std::string>& get_map(std::string_view key) const noexcept override {
    return get<7>(key);
  }

 private:
  /// Alternatives in the order of atoll_option_type.
  using Value = std::variant<bool, int64_t, double, std::string, int64_t, uint64_t, std::vector<std::string>,
                             std::map<std::string, std::string>>;
  template <size_t kType, class T>
  FakeOptions& put(std::string key, T&& value) {
    values_[std::move(key)] = Value(std::in_place_index<kType>, std::forward<T>(value));
    return *this;
  }
  template <size_t kType>
  const std::variant_alternative_t<kType, Value>& get(std::string_view key) const noexcept {
    static constexpr const char* kNames[] = {"bool",     "int",   "float",       "string",
                                             "duration", "bytes", "string list", "string map"};
    auto found = values_.find(key);
    if (found == values_.end()) die(key, kNames[kType], "it is not set");
    if (found->second.index() != kType) die(key, kNames[kType], kNames[found->second.index()]);
    return *std::get_if<kType>(&found->second);
  }
  [[noreturn]] static void die(std::string_view key, const char* wanted, const char* found) {
    std::fprintf(stderr, "FakeOptions: option '%.*s' is asked for as %s; found: %s\n",
                 static_cast<int>(key.size()), key.data(), wanted, found);
    std::abort();
  }

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace atl::test
