/// The typed options of one plugin instance, checked by the kernel against the plugin's option table before
/// any code of the plugin runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace atl {

/// Read-only and complete: every key of the table has a value, its default if the manifest does not name it.
/// Values are borrowed and live as long as the instance. Asking for a key that is not in the table, or as
/// another type than the table's, is a defect of the plugin: while the instance is made or started, it gets
/// an empty value and the instance fails with a message that names the key; later, the process ends with it.
/// [any]
class Options {
 public:
  virtual bool get_bool(std::string_view key) const noexcept = 0;
  virtual int64_t get_int(std::string_view key) const noexcept = 0;
  virtual double get_float(std::string_view key) const noexcept = 0;
  virtual const std::string& get_string(std::string_view key) const noexcept = 0;
  virtual int64_t get_duration_ns(std::string_view key) const noexcept = 0;
  virtual uint64_t get_bytes(std::string_view key) const noexcept = 0;
  virtual const std::vector<std::string>& get_strings(std::string_view key) const noexcept = 0;
  virtual const std::map<std::string, std::string>& get_map(std::string_view key) const noexcept = 0;

 protected:
  ~Options() = default;
};

}  // namespace atl
