/// The command line that the echo servers share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct EchoOptions {
  uint16_t port = 0;
  /// Which way of using the library.
  std::string shape;
};

/// Reads `--port N --shape NAME`; prints the usage and exits with 2 if that is not what was given.
EchoOptions parse_echo_options(int argc, char** argv, const std::vector<std::string>& shapes);

}  // namespace bench
