#include "command_line.h"

#include <getopt.h>

#include <ostream>
#include <string>
#include <vector>

#include "atoll/runtime/escape.h"
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
