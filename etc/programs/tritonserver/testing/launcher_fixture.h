/// For tests: an Atoll that is only files, and short ways from flags to what becomes of them.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/testing/temporary_directory.h"
#include "command_line.h"
#include "launch.h"

namespace atl::tritonserver {

struct Launch {
  bool parsed = false;
  std::string parse_text;             ///< what the parser wrote
  std::vector<std::string> settings;  ///< what --set gets, if it starts
  std::vector<std::string> warnings;
  std::string failure;  ///< failure_text(), if it does not
};

class LauncherFixture {
 public:
  LauncherFixture() {
    std::filesystem::create_directories(repository());
    file("notes.txt");
    for (const char* plugin :
         {"control/poll", "control/explicit", "admission/rate_limiter", "caches/local", "caches/redis",
          "caches/triton", "security/keys", "backends/triton", "agents/triton", "frontends/c_api",
          "memory/cuda", "memory/pinned", "backends/cuda", "backends/python", "backends/pytorch"}) {
      file(cat("lib/atoll/plugins/", plugin, ".so"));
    }
  }

  std::string repository() const { return (root_.path() / "models").string(); }
  std::string at(std::string_view name) const { return (root_.path() / name).string(); }
  void remove(std::string_view name) const { std::filesystem::remove(root_.path() / name); }
  void add_plugin(std::string_view name) const { file(cat("lib/atoll/plugins/", name, ".so")); }
  void add_folder(std::string_view name) const { std::filesystem::create_directories(root_.path() / name); }

  /// Runs the flags as they are.
  Launch run(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), "tritonserver");
    std::vector<char*> argv;
    for (std::string& flag : flags) argv.push_back(flag.data());
    argv.push_back(nullptr);
    std::ostringstream err;
    Launch launch;
    LaunchContext context = launch_context_of(root_.path() / "bin/tritonserver");
    context.triton = root_.path() / "opt/tritonserver";
    context.environment = [this](const char* name) -> const char* {
      auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    };
    auto options = read_command_line(static_cast<int>(flags.size()), argv.data(), context.environment, err);
    launch.parsed = options.has_value();
    launch.parse_text = err.str();
    if (!options) return launch;
    auto arguments = plan_launch(*options, context);
    launch.warnings = options->warnings;
    if (!arguments.ok()) {
      launch.failure = failure_text(arguments.status());
      return launch;
    }
    for (size_t i = 4; i < arguments->size(); i += 2) launch.settings.push_back((*arguments)[i]);
    program = {arguments->begin(), arguments->begin() + 3};
    return launch;
  }
  /// The flags, after one that names the repository.
  Launch serve(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), "--model-repository=" + repository());
    return run(std::move(flags));
  }

  std::map<std::string, std::string> environment;
  mutable std::vector<std::string> program;  ///< of the last launch: atoll --manifest FILE

 private:
  void file(std::string_view name) const {
    std::filesystem::path path = root_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path};
  }

  test::TemporaryDirectory root_;
};

}  // namespace atl::tritonserver
