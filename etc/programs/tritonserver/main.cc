// tritonserver: starts atoll with what Triton's command line asks for.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "atoll/lib/version.h"
#include "atoll/runtime/escape.h"
#include "command_line.h"
#include "launch.h"

namespace atl::tritonserver {
namespace {

void print_warnings(const LaunchOptions& options) {
  for (const std::string& warning : options.warnings) {
    std::string line = "Warning: ";
    runtime::append_escaped(line, warning);
    std::cerr << line << std::endl;
  }
}

int fail(const Status& failure) {
  std::cerr << failure_text(failure) << std::flush;
  return kExitFailure;
}

/// Becomes atoll, so that signals and the exit code are the server's own.
int become(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execv(pointers.front(), pointers.data());
  return fail(internal_error("cannot start ", arguments.front(), ": ", std::strerror(errno)));
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::cout << lib::version_text("tritonserver") << std::endl;
    return 0;
  }
  std::error_code error;
  auto launcher = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(internal_error("/proc/self/exe: ", error.message()));
  const LaunchContext context = launch_context_of(launcher);
  auto options = read_command_line(argc, argv, context.environment, std::cerr);
  if (!options) return kExitFailure;
  auto arguments = plan_launch(*options, context);
  print_warnings(*options);
  return arguments.ok() ? become(*arguments) : fail(arguments.status());
}

}  // namespace
}  // namespace atl::tritonserver

int main(int argc, char** argv) {
  try {
    return atl::tritonserver::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "error: creating server: Internal - " << error.what() << std::endl;
    return atl::tritonserver::kExitFailure;
  }
}
