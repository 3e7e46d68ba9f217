#include "checks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "atoll/runtime/exports.h"
#include "kernel/loader/plugin_loader.h"
#include "run_instance.h"

namespace atl::lint {
namespace {

using kernel::PluginLoader;

/// What a plugin links and the server brings.
constexpr std::string_view kServerLibraries[] = {"libatoll_proto.so", "libtritonserver.so"};

class NoLog final : public Log {
 public:
  bool enabled(LogLevel) const noexcept override { return false; }
  void write(LogLevel, std::string_view) noexcept override {}
};

bool imports(const ElfFacts& facts, std::string_view name) {
  return std::any_of(facts.symbols.begin(), facts.symbols.end(),
                     [&](const DynamicSymbol& symbol) { return !symbol.defined && symbol.name == name; });
}

void check_library(std::shared_ptr<kernel::PluginLibrary>& library, const ElfFacts& facts, Report& report) {
  if (library->has(ATOLL_PLUGIN_RESIDENT)) return;
  if (facts.never_unloads) report.problem("is linked with -z nodelete, but not flagged RESIDENT");
  if (imports(facts, "__cxa_thread_atexit")) {
    report.problem(
        "has a thread_local with a destructor, which keeps it mapped, but is not flagged RESIDENT");
  }
}

void load_twice(const std::string& path, const ElfFacts& facts, const runtime::RawValue::Table& settings,
                Report& report) {
  NoLog log;
  PluginLoader loader(log);
  for (int round = 1; round <= 2; ++round) {
    report.step("loading");
    auto library = loader.open(path, {});
    if (!library.ok()) {
      std::string text = library.status().text();
      std::string prefix = cat(path, ": ");
      return report.problem(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
    }
    check_library(library.value(), facts, report);
    run_instance(library.value()->descriptor(), settings, report);
    report.step("unloading");
    if (loader.close(std::move(library).value()) == PluginLoader::Closed::kStillMapped) {
      return report.problem("stays mapped after it was closed, but is not flagged RESIDENT");
    }
  }
}

}  // namespace

void check_file(const ElfFacts& facts, Report& report) {
  bool has_descriptor = false;
  std::vector<std::string> unique;
  std::vector<std::string> exported;
  for (const DynamicSymbol& symbol : facts.symbols) {
    if (!symbol.defined) continue;
    if (symbol.unique) {
      unique.push_back(symbol.name);
    } else if (symbol.visible && symbol.name == ATOLL_PLUGIN_SYMBOL) {
      has_descriptor = true;
    } else if (symbol.visible && !runtime::is_sanitizers_own(symbol.name)) {
      exported.push_back(symbol.name);
    }
  }
  if (!unique.empty()) {
    report.problem(cat("defines ", unique.size(), " unique symbols (", runtime::shortened_list(unique),
                       "), which keep it mapped; compile with -fno-gnu-unique"));
  }
  if (!exported.empty()) {
    report.problem(runtime::exports_text(exported, ATOLL_PLUGIN_SYMBOL));
  }
  if (!has_descriptor) report.problem(cat("does not export ", ATOLL_PLUGIN_SYMBOL));
  if (!facts.binds_now) report.problem("binds its symbols lazily; link with -z now");
  for (std::string_view library : kServerLibraries) {
    bool needed = std::find(facts.needed.begin(), facts.needed.end(), library) != facts.needed.end();
    if (facts.has_runpath && needed) {
      report.problem(cat("has a DT_RUNPATH, so ", library,
                         " is not looked for beside the server; link with --disable-new-dtags"));
    }
  }
}

void check_loading(const std::string& path, const ElfFacts& facts, const runtime::RawValue::Table& settings,
                   Report& report) {
  int ends[2];
  if (::pipe(ends) != 0) return report.problem("cannot be run: no pipe to be had");
  pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    PipeReport to_parent(ends[1]);
    load_twice(path, facts, settings, to_parent);
    ::_exit(0);
  }
  ::close(ends[1]);
  LintFindings said;
  const bool ended = read_report(ends[0], said);
  ::close(ends[0]);
  if (!ended && child > 0) ::kill(child, SIGKILL);
  for (const std::string& line : said.problems()) report.problem(line);
  for (const std::string& line : said.notes()) report.note(line);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    report.problem("cannot be run: no process to be had");
  } else if (!ended) {
    report.problem(
        cat("hangs: did not return within ", kHangsAfter.count(), " s from this step: ", said.last_step()));
  } else if (WIFSIGNALED(status)) {
    report.problem(cat("crashed (", ::strsignal(WTERMSIG(status)), ") in this step: ", said.last_step()));
  } else if (WEXITSTATUS(status) != 0) {
    report.problem(
        cat("ended the process with code ", WEXITSTATUS(status), " in this step: ", said.last_step()));
  }
}

}  // namespace atl::lint
