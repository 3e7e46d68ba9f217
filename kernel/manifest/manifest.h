/// The manifest: the TOML file that says which plugin instances exist and how the server behaves.
///
/// Reading it runs no plugin code. Options of instances stay raw here, because their types are known only
/// when the plugins' option tables are (option_values.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/overrides.h"
#include "atoll/runtime/raw_value.h"
#include "atoll/runtime/reference.h"

namespace atl::kernel {

using lib::Override;
using lib::overrides_from_environment;
using runtime::location_text;
using runtime::SourceLocation;

/// One [plugin.NAME] table.
struct InstanceConfig {
  std::string name;  ///< "grpc"
  std::string use;   ///< "frontends/grpc"; default: the name; empty: it is none, which was told
  bool enabled = true;
  std::string file;                          ///< path of the shared object; empty: searched in plugin_path
  std::map<std::string, std::string> needs;  ///< interface id -> name of the instance that shall provide it
  runtime::SourceLocation needs_where;       ///< of the table; without a file: there is none
  runtime::RawValue::Table options;          ///< the plugin's own keys
  SourceLocation where;
  SourceLocation plugin_where;  ///< of what says which plugin it is: `file`, `use` or the table
};

struct ServerConfig {
  int64_t drain_timeout_ns = 30'000'000'000;  ///< [atoll] drain_timeout
  int64_t trial_timeout_ns = 60'000'000'000;  ///< [atoll] trial_timeout
  std::vector<std::string> plugin_path;       ///< [atoll] plugin_path: folders searched for ROLE/NAME.so
  uint32_t worker_threads = 4;                ///< [atoll] worker_threads, 1..64
  bool operator==(const ServerConfig&) const = default;
};

enum class LogFormat : uint32_t { kText = 0, kJson = 1 };

struct LogConfig {
  std::string level = "info";  ///< trace, debug, info, warning, error
  LogFormat format = LogFormat::kText;
  std::string time_format = "default";  ///< or "ISO8601"
  std::string file;                     ///< empty: standard error
  bool operator==(const LogConfig&) const = default;
};

struct Manifest {
  ServerConfig server;
  LogConfig log;
  std::vector<InstanceConfig> instances;  ///< ordered by name, disabled ones included
};

/// Reads and checks a manifest. Later overrides win over earlier ones and all of them over the file; an empty
/// path means that there is no file, so the overrides stand alone. Limits: 1 MiB of text, 64 levels of nesting,
/// 1,024 instances; an array or inline table holds at most 4,096 elements in 64 KiB.
/// \param problems  gets every one found: file:line:column, what was found, what was expected and, for an
///                  unknown key, the nearest known one; what is wrong has its default in the manifest then
/// Errors: NOT_FOUND no such file; INVALID_ARGUMENT it cannot be read, or is no TOML.
Result<Manifest> read_manifest(const std::string& path, const std::vector<Override>& overrides,
                               runtime::Problems& problems);

/// The same of a text. \param name  of it, for places
Result<Manifest> parse_manifest(std::string_view text, const std::string& name,
                                const std::vector<Override>& overrides, runtime::Problems& problems);

/// The tables that the kernel reads itself, for the reference: [atoll], [log], [plugin.NAME].
std::span<const runtime::OptionSection> manifest_sections();

}  // namespace atl::kernel
