#include "kernel/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "atoll/lib/flag_suggestion.h"
#include "atoll/lib/version.h"
#include "atoll/runtime/escape.h"

namespace atl::kernel {

void print_error(std::ostream& err, std::string_view message) {
  while (!message.empty()) {
    size_t end = std::min(message.find('\n'), message.size());
    std::string line = "atoll: ";
    runtime::append_escaped(line, message.substr(0, end));
    err << line << '\n';
    message.remove_prefix(std::min(end + 1, message.size()));
  }
}

std::optional<CommandLine> parse_command_line(int argc, const char* const* argv, std::ostream& out,
                                              std::ostream& err, int& exit_code) {
  CommandLine line;
  CLI::App app("An inference server: a small kernel that loads the plugins a manifest names.", "atoll");
  app.footer(
      "atoll WORD ... runs the program atoll-WORD that lies beside this one: atoll serve DIR, atoll demo.");
  app.add_option("--manifest", line.manifest_path, "The manifest (TOML)")->type_name("FILE");
  auto set = [&line](const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
      size_t equals = setting.find('=');
      if (equals == std::string::npos || equals == 0)
        throw CLI::ValidationError("--set", cat("found '", setting, "', expected KEY=VALUE"));
      line.overrides.push_back({setting.substr(0, equals), setting.substr(equals + 1), "--set"});
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--set", set, "Set a key of the manifest, any number of times; also from ATOLL__SECTION__KEY")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  auto* check = app.add_flag_callback(
      "--check", [&line] { line.action = Action::kCheck; },
      "Check the manifest and the plugins it names, without starting");
  auto* list = app.add_flag_callback(
      "--list", [&line] { line.action = Action::kList; },
      "Show what the kernel and every plugin provide, need and take");
  check->excludes(list);
  // What a reload runs; in no group, it is not in the help.
  app.add_option("--trial", line.trial)->group("");
  auto format = [&line](const std::string& name) {
    if (name != "text" && name != "markdown")
      throw CLI::ValidationError("--format", cat("found '", name, "', expected text or markdown"));
    line.list_format = name == "text" ? ReferenceFormat::kText : ReferenceFormat::kMarkdown;
  };
  app.add_option_function<std::string>("--format", format, "Format of --list: text or markdown")
      ->type_name("FORMAT")
      ->needs(list);
  app.set_version_flag("--version", lib::version_text("atoll"));
  try {
    app.parse(argc, argv);
    if (line.manifest_path.empty() && line.action != Action::kList)
      throw CLI::ParseError("--manifest: found nothing, expected a file", kExitUsage);
    exit_code = kExitOk;
    return line;
  } catch (const CLI::Success& success) {
    exit_code = app.exit(success, out, err);
  } catch (const CLI::Error& error) {
    bool is_complete = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
    std::string message;
    runtime::append_escaped(message, error.what());  // an argument may hold a newline
    print_error(err, cat(message, lib::flag_suggestion(app), is_complete ? "" : " (see atoll --help)"));
    exit_code = kExitUsage;
  }
  return std::nullopt;
}

}  // namespace atl::kernel
