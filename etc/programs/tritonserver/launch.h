/// From options to the arguments of atoll.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "launch_options.h"

namespace atl::tritonserver {

/// What the launcher finds around it.
struct LaunchContext {
  std::filesystem::path atoll;     ///< the program to start
  std::filesystem::path manifest;  ///< the default manifest, whose instances the flags set
  std::filesystem::path plugins;   ///< folder with <role>/<name>.so
  std::filesystem::path triton;    ///< of an installed Triton: backends, repoagents and caches by default
  EnvironmentLookup environment;
};

/// The folders of an installed or built Atoll, seen from the launcher's own file.
LaunchContext launch_context_of(const std::filesystem::path& launcher);

/// Settles what several flags say together; may add warnings. Errors, in this order: FAILED_PRECONDITION and
/// INVALID_ARGUMENT flags that do not go together; UNIMPLEMENTED what Atoll does not serve, a line each;
/// INVALID_ARGUMENT and INTERNAL repositories that cannot be served. Messages are Triton's where it has one.
/// \returns the arguments, the program's path first.
Result<std::vector<std::string>> plan_launch(LaunchOptions& options, const LaunchContext& context);

/// "127.0.0.1:8000"; an IPv6 address gets its brackets.
std::string address_text(const EndpointAddress& endpoint);
/// Errors: INVALID_ARGUMENT a number that is no port, told with the name of what gave it.
Status check_port(std::string_view name, int64_t port);
/// Notes that a flag needs a plugin which is not there. \param plugin  "<role>/<name>"
void need_plugin(LaunchOptions& options, const LaunchContext& context, std::string_view flag,
                 const std::string& plugin);

/// A failure as Triton writes it, a line for each of its message's: "error: creating server: Internal - ...".
/// One of FAILED_PRECONDITION is told as it is.
std::string failure_text(const Status& failure);

}  // namespace atl::tritonserver
