/// What the command line says.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "answer_difference.h"
#include "sender.h"

namespace atl::replay {

enum ExitCode : int {
  kDone = 0,
  kDifferent = 1,     ///< a request failed or was answered differently, or there is no server
  kUsage = 2,         ///< the command line is wrong, or names something that is no recording
  kInterrupted = 130  ///< by Ctrl-C, as shells have it
};

struct ReplayOptions {
  std::vector<std::string> files;
  std::string url;
  std::string protocol = "http";
  double pace = 1;
  bool compares = false;
  bool json = false;
  bool latest = false;
  Tolerance tolerance;
  int64_t timeout_s = 60;
  int64_t in_flight_max = 1000;
  std::vector<std::string> headers;
  std::string
      token;  ///< before the command line is read: that of the environment (ATOLL_TOKEN); not in a header: empty
  ReplayTls tls;
};

/// A token becomes a header, unless there is a header of credentials already.
/// \returns whether there is something to be done; if not, *exit_code is set, and what is to be said was said
bool read_command_line(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                       ReplayOptions* options, int* exit_code);

}  // namespace atl::replay
