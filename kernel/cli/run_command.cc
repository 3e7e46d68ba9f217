#include <signal.h>

#include <filesystem>
#include <ostream>

#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/memory_reserve.h"
#include "kernel/cli/command_line.h"
#include "kernel/cli/plugin_list.h"
#include "kernel/cli/word_program.h"
#include "kernel/log/log_sink.h"
#include "kernel/server/plugin_trial.h"
#include "kernel/server/server.h"

namespace atl::kernel {
namespace {

/// Empty: the system does not say.
std::filesystem::path executable_folder(std::ostream& err) {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) print_error(err, cat("/proc/self/exe, beside which plugins are installed: ", error.message()));
  return executable.parent_path();
}

/// <folder of the executable>/../lib/atoll/plugins
std::vector<std::string> installed_plugin_path(const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  return {(folder.parent_path() / "lib/atoll/plugins").string()};
}

int report(std::ostream& err, const Status& failure) {
  print_error(err, failure.text());
  bool is_operators = failure.code() == Code::kInvalidArgument || failure.code() == Code::kNotFound ||
                      failure.code() == Code::kFailedPrecondition;
  return is_operators ? kExitUsage : kExitFailure;
}

int check(const ServerArguments& arguments, LogSink& sink, std::ostream& out, std::ostream& err) {
  Result<size_t> count = check_server(arguments, sink);
  if (!count.ok()) return report(err, count.status());
  out << arguments.manifest_path << ": ok, " << count.value() << " plugin instances\n";
  return kExitOk;
}

int list(const ServerArguments& arguments, LogSink& sink, ReferenceFormat format, std::ostream& out,
         std::ostream& err) {
  auto status = list_plugins(arguments, sink, [&](std::span<const atoll_plugin_v1_t* const> plugins) {
    out << render_reference(manifest_sections(), plugins, format) << std::flush;
  });
  return status.ok() ? kExitOk : report(err, status);
}

}  // namespace

int run_command(int argc, const char* const* argv, char** environment, std::ostream& out, std::ostream& err) {
  const bool has_word = argc > 1 && *argv[1] != '-' && *argv[1] != '\0';
  if (has_word) return report(err, become_program(executable_folder(err).string(), argv));
  int exit_code = kExitOk;
  auto line = parse_command_line(argc, argv, out, err, exit_code);
  if (!line) return exit_code;
  ServerArguments arguments;
  arguments.manifest_path = line->manifest_path;
  arguments.overrides = overrides_from_environment(environment);
  arguments.overrides.insert(arguments.overrides.end(), line->overrides.begin(), line->overrides.end());
  arguments.default_plugin_path = installed_plugin_path(executable_folder(err));
  arguments.version = ATOLL_VERSION;
  arguments.command_line.assign(argv, argv + argc);
  LogSink sink;
  runtime::SignalStack signal_stack;
  runtime::install_fault_report(&sink.pending_records());
  const runtime::ExitReport exit_report;
  if (!line->trial.empty()) try_plugins(arguments, sink, line->trial);
  switch (line->action) {
    case Action::kCheck:
      return check(arguments, sink, out, err);
    case Action::kList:
      return list(arguments, sink, line->list_format, out, err);
    case Action::kServe:
      break;
  }
  runtime::install_memory_reserve();
  // A write beyond the largest size of a file (RLIMIT_FSIZE) then fails, as it does on a full disk. It stays ignored, because
  // the log's last line is written after the signals' handlers are gone.
  ::signal(SIGXFSZ, SIG_IGN);
  return run_server(arguments, sink);
}

}  // namespace atl::kernel
