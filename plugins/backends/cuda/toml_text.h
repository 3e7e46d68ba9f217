/// TOML of model repositories: read by the library, which is kept from what it can not bear. Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <toml.hpp>

#include "atoll/status.h"

namespace atl::cuda_backend {

/// \param file  for messages
/// Errors: INVALID_ARGUMENT, on one line with the line's number.
Result<toml::table> parse_toml(std::string_view text, const std::string& file) noexcept;

/// The members of one table. Those that nobody asked for are mistakes.
class TomlFields {
 public:
  /// \param where  what messages begin with: "pipeline.toml: step 2" \param table  outlives this
  TomlFields(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  /// Null: there is none. It is known from now on.
  const toml::value* find(const std::string& key);
  bool has(const std::string& key) const { return table_.count(key) != 0; }

  // Errors of all: INVALID_ARGUMENT the field is there and has another type, or no such value.
  Result<std::string> text(const std::string& key);  ///< "": there is none
  Status flag(const std::string& key, bool& value);
  Result<const toml::array*> array(const std::string& key);  ///< null: there is none
  Result<const toml::table*> table(const std::string& key);  ///< null: there is none

  /// Errors: INVALID_ARGUMENT a field that nobody asked for.
  Status finish() const;

  /// "pipeline.toml: step 2: grid: found an integer, expected an array"
  Status wrong_type(const std::string& key, const toml::value& value, std::string_view expected) const;
  template <class... Parts>
  Status wrong(const std::string& key, const Parts&... parts) const {
    return invalid_argument(where_, ": ", key, ": ", parts...);
  }
  const std::string& where() const noexcept { return where_; }
  void set_where(std::string where) { where_ = std::move(where); }

 private:
  const toml::table& table_;
  std::string where_;
  std::vector<std::string> known_;
};

/// "an integer"
const char* toml_type_name(const toml::value& value) noexcept;

}  // namespace atl::cuda_backend
