/// The options of one table of a manifest, checked against an option table.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/options.h"
#include "atoll/runtime/typed_value.h"

namespace atl::runtime {

/// The typed options; complete (defaults filled in). [any]
/// Until seal() a plugin that asks for what is not in its table gets an empty value, and its defect is
/// remembered: whoever runs its first steps makes a failure of it. Afterwards it ends the process.
class OptionValues final : public Options {
 public:
  using Values = std::map<std::string, TypedValue, std::less<>>;
  /// \param refused  keys whose values were refused, so that these are their defaults
  explicit OptionValues(Values values, std::set<std::string, std::less<>> refused = {})
      : values_(std::move(values)), refused_(std::move(refused)) {}
  virtual ~OptionValues() = default;

  bool get_bool(std::string_view key) const noexcept override;
  int64_t get_int(std::string_view key) const noexcept override;
  double get_float(std::string_view key) const noexcept override;
  const std::string& get_string(std::string_view key) const noexcept override;
  int64_t get_duration_ns(std::string_view key) const noexcept override;
  uint64_t get_bytes(std::string_view key) const noexcept override;
  const std::vector<std::string>& get_strings(std::string_view key) const noexcept override;
  const std::map<std::string, std::string>& get_map(std::string_view key) const noexcept override;

  /// What was asked for and is not in the table, or has another type there; empty: nothing. Forgotten then.
  std::string take_defect() const noexcept;
  void seal() noexcept { sealed_.store(true); }

  const Values& all() const noexcept { return values_; }
  bool refused(std::string_view key) const noexcept { return refused_.contains(key); }
  /// What an instance in a trial gets instead: port 0 where it listens (ATOLL_OPTION_LISTENS), and for what it
  /// writes to (ATOLL_OPTION_STATE) the path `folder`/`name`.KEY, where nothing is. Before it has read them.
  void set_for_trial(std::span<const atoll_option_v1> table, std::string_view folder, std::string_view name);

  /// Same keys, same values: an instance whose options are equal to its predecessor's is carried over by a
  /// reload.
  bool equals(const OptionValues& other) const noexcept { return values_ == other.values_; }

 private:
  template <class T>
  const T& get(std::string_view key, uint32_t type) const noexcept;
  void defect(std::string_view key, std::string_view problem) const noexcept;

  Values values_;
  std::set<std::string, std::less<>> refused_;
  std::atomic<bool> sealed_{false};
  mutable std::mutex mutex_;  // guards defect_
  mutable std::string defect_;
};

/// Checks keys, types, ranges and choices; the table itself is sound (check_option_table()).
/// \param section     the table's name in the manifest: "plugin.grpc".
/// \param where       the table's place, for keys that are missing.
/// \param other_keys  rows whose keys are read elsewhere, for hints.
/// \param problems    gets every one found, with its place and, for an unknown key, the nearest known one.
/// \returns complete values; those with problems hold their default.
std::unique_ptr<OptionValues> read_options(std::string_view section, const SourceLocation& where,
                                           const RawValue::Table& options,
                                           std::span<const atoll_option_v1> table,
                                           std::span<const atoll_option_v1> other_keys, Problems& problems);

}  // namespace atl::runtime
