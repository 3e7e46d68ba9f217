// atoll-lint PLUGIN.so...: whether a plugin keeps the rules that loading and unloading it safely demand.
// Exit code: 0 all do, 1 some do not, 2 usage.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "elf_file.h"
#include "kernel/loader/plugin_loader.h"
#include "run_instance.h"

namespace atl::lint {
namespace {

using kernel::PluginLoader;

class NoLog final : public Log {
 public:
  bool enabled(LogLevel) const noexcept override { return false; }
  void write(LogLevel, std::string_view) noexcept override {}
};

using Problems = std::vector<std::string>;

bool imports(const ElfFacts& facts, std::string_view name) {
  for (const DynamicSymbol& symbol : facts.symbols) {
    if (!symbol.defined && symbol.name == name) return true;
  }
  return false;
}

void check_file(const ElfFacts& facts, Problems& problems) {
  bool has_descriptor = false;
  for (const DynamicSymbol& symbol : facts.symbols) {
    if (!symbol.defined) continue;
    if (symbol.unique) {
      problems.push_back(cat("defines the unique symbol ", symbol.name, "; compile with -fno-gnu-unique"));
    } else if (symbol.visible && symbol.name != ATOLL_PLUGIN_SYMBOL) {
      problems.push_back(cat("exports ", symbol.name, "; expected only ", ATOLL_PLUGIN_SYMBOL,
                             " (link with the version script)"));
    }
    has_descriptor |= symbol.visible && symbol.name == ATOLL_PLUGIN_SYMBOL;
  }
  if (!has_descriptor) problems.push_back(cat("does not export ", ATOLL_PLUGIN_SYMBOL));
  if (!facts.binds_now) problems.push_back("binds its symbols lazily; link with -z now");
}

/// Loads, runs an instance, unloads, and all of it again; in a process of its own, because the plugin's code
/// runs.
void check_loading(const std::string& path, const ElfFacts& facts, Problems& problems) {
  NoLog log;
  PluginLoader loader(log);
  for (int round = 1; round <= 2; ++round) {
    auto library = loader.open(path, {});
    if (!library.ok()) {
      problems.push_back(library.status().text());
      return;
    }
    bool resident = library.value()->has(ATOLL_PLUGIN_RESIDENT);
    if (round == 1 && !resident && facts.never_unloads) {
      problems.push_back("is linked with -z nodelete, but not flagged RESIDENT");
    }
    if (round == 1 && !resident && imports(facts, "__cxa_thread_atexit")) {
      problems.push_back(
          "has a thread_local with a destructor, which keeps it mapped, but is not flagged RESIDENT");
    }
    run_instance(library.value()->descriptor(), problems);
    if (loader.close(std::move(library).value()) == PluginLoader::Closed::kStillMapped) {
      problems.push_back("stays mapped after it was closed, but is not flagged RESIDENT");
      return;
    }
  }
}

void check_loading_in_a_child(const std::string& path, const ElfFacts& facts, Problems& problems) {
  int ends[2];
  if (::pipe(ends) != 0) return problems.push_back("no pipe to be had");
  pid_t child = ::fork();
  if (child == 0) {
    Problems found;
    check_loading(path, facts, found);
    for (const std::string& line : found) ::dprintf(ends[1], "%s\n", line.c_str());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  ::close(ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    problems.push_back("crashed while it was loaded or unloaded");
  }
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    problems.push_back(text.substr(at, end - at));
  }
}

bool lint(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  Problems problems;
  if (!file.is_open()) {
    problems.push_back("cannot be read");
  } else if (auto facts = read_elf(bytes); !facts.ok()) {
    problems.push_back(facts.status().text());
  } else {
    check_file(facts.value(), problems);
    check_loading_in_a_child(path, facts.value(), problems);
  }
  for (const std::string& problem : problems) std::printf("%s: %s\n", path.c_str(), problem.c_str());
  if (problems.empty()) std::printf("%s: ok\n", path.c_str());
  return problems.empty();
}

}  // namespace
}  // namespace atl::lint

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: atoll-lint PLUGIN.so...\n");
    return 2;
  }
  bool good = true;
  for (int i = 1; i < argc; ++i) good &= atl::lint::lint(argv[i]);
  return good ? 0 : 1;
}
