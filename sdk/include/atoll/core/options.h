/// The typed options of one plugin instance. The kernel has checked them against the plugin's
/// option table (option_table.h) before any code of the plugin runs.
///
///     const int64_t interval_ns = host.options().get_duration_ns("interval");  // "15s": 15,000,000,000
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace atl {

/// The values of one [plugin.NAME] of the manifest: read-only and complete. Every key of the table
/// has a value; where the manifest does not name the key, its default. The returned references live
/// as long as the instance. [any]
///
/// Asking for a key that is not in the table, or as another type than the table's, is a defect of
/// the plugin. While the instance is made or started, the call returns an empty value, and the
/// instance fails with a message that names the key. Later, the process ends with that message.
class Options {
 public:
  /// A row of option_bool().
  virtual bool get_bool(std::string_view key) const noexcept = 0;
  /// A row of option_int(), within the row's range.
  virtual int64_t get_int(std::string_view key) const noexcept = 0;
  /// A row of option_float(), within the row's range.
  virtual double get_float(std::string_view key) const noexcept = 0;
  /// A row of option_string(), one of the row's choices if it has any.
  virtual const std::string& get_string(std::string_view key) const noexcept = 0;
  /// A row of option_duration(), in nanoseconds.
  virtual int64_t get_duration_ns(std::string_view key) const noexcept = 0;
  /// A row of option_bytes(), in bytes: 67,108,864 for "64MiB".
  virtual uint64_t get_bytes(std::string_view key) const noexcept = 0;
  /// A row of option_string_list(), in the manifest's order.
  virtual const std::vector<std::string>& get_strings(std::string_view key) const noexcept = 0;
  /// A row of option_string_map().
  virtual const std::map<std::string, std::string>& get_map(std::string_view key) const noexcept = 0;

 protected:
  ~Options() = default;
};

}  // namespace atl
