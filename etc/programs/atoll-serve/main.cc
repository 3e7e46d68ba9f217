// atoll serve DIR, atoll demo: start atoll with what a folder holds, or with a model that they bring along.
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "command_line.h"
#include "serve.h"

namespace atl::serve {
namespace {

int run(int argc, char** argv) {
  const bool is_demo = argc > 0 && std::filesystem::path(argv[0]).filename() == "atoll-demo";
  const std::string word = is_demo ? "demo" : "serve";
  int exit_code = kExitOk;
  auto options = read_command_line(word, std::vector<std::string>(argv + std::min(argc, 1), argv + argc),
                                   std::cout, std::cerr, exit_code);
  if (!options) return exit_code;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  auto signals = SignalFeed::open();
  if (error || !signals.ok()) {
    std::cerr << message_line(word,
                              error ? cat("/proc/self/exe: ", error.message()) : signals.status().text());
    return kExitFailure;
  }
  return serve(word, *options, serve_context_of(program), *signals, std::cout, std::cerr);
}

}  // namespace
}  // namespace atl::serve

int main(int argc, char** argv) {
  try {
    return atl::serve::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << atl::serve::message_line("serve", error.what());
    return atl::serve::kExitFailure;
  }
}
