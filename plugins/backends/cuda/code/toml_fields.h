/// The tables of pipeline.toml, read field by field. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/toml.h"

namespace atl::cuda_backend {

using lib::RawValue;

/// The members of one table. Those that nobody asked for are mistakes.
class TomlFields {
 public:
  /// \param table  a table, outlives this
  /// \param title  what messages name it: "step 2"; the file's own members have none
  TomlFields(const RawValue& table, std::string title) : table_(table), title_(std::move(title)) {}

  /// Null: there is none. It is known from now on.
  const RawValue* find(const std::string& key);
  bool has(std::string_view key) const { return table_.find(key) != nullptr; }

  // Errors of all: INVALID_ARGUMENT the field is there and has another type, or no such value.
  Result<std::string> text(const std::string& key);  ///< "": there is none
  Status flag(const std::string& key, bool& value);
  Result<const RawValue::Array*> array(const std::string& key);  ///< null: there is none
  Result<const RawValue*> table(const std::string& key);         ///< null: there is none

  /// Errors: INVALID_ARGUMENT a field that nobody asked for.
  Status finish() const;

  /// "pipeline.toml:7:8: step 2: grid: found an integer, expected an array"
  Status wrong_type(const std::string& key, const RawValue& value, std::string_view expected) const;
  template <class... Parts>
  Status wrong(const std::string& key, const Parts&... parts) const {
    return invalid_argument(where(key), ": ", key, ": ", parts...);
  }
  /// What messages begin with: "pipeline.toml:7:8: step 2". \param key  where that is, "grid" or "grid[1]"; of
  /// one that is not there, and of "", the table
  std::string where(std::string_view key = "") const;
  void set_title(std::string title) { title_ = std::move(title); }

 private:
  const lib::SourceLocation& place_of(std::string_view key) const;
  std::string titled(const lib::SourceLocation& place) const;

  const RawValue& table_;
  std::string title_;
  std::vector<std::string> known_;
};

/// "an integer"
const char* toml_type_name(const RawValue& value) noexcept;

}  // namespace atl::cuda_backend
