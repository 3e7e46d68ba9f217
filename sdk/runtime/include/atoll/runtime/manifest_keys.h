/// Keys of a manifest, set one by one by what makes a manifest out of options of another kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace atl::runtime {

/// `text` as a TOML string.
std::string toml_text(std::string_view text);

/// Later values of a key win; lists and tables grow.
class ManifestKeys {
 public:
  void set(std::string_view key, bool value);
  void set(std::string_view key, int64_t value);
  void set(std::string_view key, double value);
  void set(std::string_view key, std::string_view text);
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
  void set(std::string_view key, std::vector<std::string> texts);
  /// Adds to a list of texts.
  void add(std::string_view key, std::string_view text);
  /// Sets a member of a table of texts.
  void put(std::string_view key, std::string_view member, std::string_view text);

  /// Every key with its value in TOML.
  std::map<std::string, std::string> toml() const;
  /// The same as "plugin.http.enabled=false", as atoll's --set takes it; ordered.
  std::vector<std::string> overrides() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::vector<std::string>, std::less<>> lists_;
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> tables_;
};

}  // namespace atl::runtime
