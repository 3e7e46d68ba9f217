#include "echo_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace bench {

EchoOptions parse_echo_options(int argc, char** argv, const std::vector<std::string>& shapes) {
  EchoOptions options;
  options.shape = shapes.front();
  CLI::App app("Sends every request back; listens on 127.0.0.1 with one thread until it is terminated.");
  app.add_option("--port", options.port, "port to listen on; 0 takes a free one");
  app.add_option("--shape", options.shape, "how the library is used")->check(CLI::IsMember(shapes));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    std::exit(error.get_exit_code() == 0 ? 0 : 2);
  }
  return options;
}

}  // namespace bench
