// atollctl: pools, leases and models of a server, from the command line.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"

int main(int argc, char** argv) {
  const atl::ctl::Context context{
      std::cout, std::cerr, ::isatty(STDERR_FILENO) != 0,
      [](const char* name) -> const char* { return std::getenv(name); },
      [](const atl::ctl::TargetSettings& settings) -> std::unique_ptr<atl::ctl::Target> {
        return std::make_unique<atl::ctl::HttpTarget>(settings);
      }};
  const int code = atl::ctl::run(std::vector<std::string>(argv + 1, argv + argc), context);
  std::cout << std::flush;
  return std::cout ? code : static_cast<int>(atl::ctl::kRefused);
}
