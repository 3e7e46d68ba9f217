#include "command_line.h"

#include <getopt.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "atoll/runtime/escape.h"
#include "atoll/runtime/problems.h"
#include "flag_table.h"

namespace atl::tritonserver {
namespace {

constexpr int kHelp = 1;
/// getopt's number of the first flag; beyond the characters that it returns for itself.
constexpr int kFirstFlag = 256;

std::vector<option> getopt_table() {
  std::vector<option> options = {{"help", no_argument, nullptr, kHelp}};
  for (const Flag& flag : flag_table()) {
    int argument = flag.value.empty() ? no_argument : required_argument;
    // Names are literals, so they end with a NUL.
    options.push_back(
        {flag.name.data(), argument, nullptr, kFirstFlag + static_cast<int>(options.size()) - 1});
  }
  options.push_back({nullptr, 0, nullptr, 0});
  return options;
}

void complain(std::ostream& err, std::string_view message) {
  std::string line;
  runtime::append_escaped(line, message);
  err << line << std::endl;
}

/// A line that names the flag that was probably meant, if there is one that is spelt much alike.
/// \param argument  the one that getopt refused: "--htp-port=1"
void suggest_flag(std::ostream& err, std::string_view argument) {
  if (!argument.starts_with("--")) return;
  const std::string_view name = argument.substr(2, argument.find('=') - 2);
  std::vector<std::string_view> names;
  for (const Flag& flag : flag_table()) names.push_back(flag.name);
  // Of a known flag only the value was refused, and of several that begin alike getopt has named all.
  if (std::ranges::any_of(names, [name](std::string_view known) { return known.starts_with(name); })) return;
  const std::string_view meant = runtime::nearest_word(name, names);
  if (!meant.empty()) complain(err, cat("Did you mean '--", meant, "'?"));
}

/// Where the server listens is said once for all endpoints in a container, whose command lines are often written for Triton.
void read_listen_address(const EnvironmentLookup& environment, LaunchOptions& options) {
  const char* address = environment("ATOLL_LISTEN_ADDRESS");
  if (address == nullptr || *address == '\0') return;
  options.http.address = address;
  options.grpc.address = address;
}

/// \param option  a flag with its dashes, or a variable of the environment
void complain_of(std::ostream& err, std::string_view option, const Status& status) {
  complain(err, cat("Bad option: \"", option, "\"."));
  complain(err, status.message());
  complain(err, kSeeHelp);
}

}  // namespace

std::optional<LaunchOptions> read_command_line(int argc, char** argv, const EnvironmentLookup& environment,
                                               std::ostream& err) {
  const std::vector<option> flags = getopt_table();
  LaunchOptions options;
  read_listen_address(environment, options);
  optind = 0;  // glibc: begin anew
  for (int found; (found = getopt_long(argc, argv, "", flags.data(), nullptr)) != -1;) {
    if (found == kHelp) {
      err << usage() << std::flush;
      return std::nullopt;
    }
    if (found < kFirstFlag) {  // getopt has said what it did not understand
      suggest_flag(err, argv[optind - 1]);
      complain(err, kSeeHelp);
      return std::nullopt;
    }
    const Flag& flag = flag_table()[static_cast<size_t>(found - kFirstFlag)];
    FlagUse use{std::string(flag.name), optarg == nullptr ? "" : optarg, options};
    if (Status status = apply(flag, use); !status.ok()) {
      complain_of(err, cat("--", use.name), status);
      return std::nullopt;
    }
  }
  if (optind < argc) {
    complain(err, cat("Unexpected argument: ", argv[optind]));
    complain(err, kSeeHelp);
    return std::nullopt;
  }
  FlagUse use{"", "", options};
  if (Status status = read_trace_environment(environment, use); !status.ok()) {
    complain_of(err, use.name, status);
    return std::nullopt;
  }
  return options;
}

}  // namespace atl::tritonserver
