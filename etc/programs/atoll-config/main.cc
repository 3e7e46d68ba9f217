// atoll-config check PATH...: whether model configurations are right, without a server.
// Exit code: 0 no errors, 1 some, 2 a path cannot be read, or the command line is wrong.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "atoll/lib/version.h"
#include "atoll/runtime/escape.h"
#include "check_path.h"
#include "report.h"

namespace atl::config {
namespace {

constexpr int kFine = 0;
constexpr int kProblems = 1;
constexpr int kUnreadable = 2;

struct Arguments {
  std::vector<std::string> paths;
  PathOptions options;
  bool json = false;
  bool print = false;
};

void complain(std::string_view message) {
  std::string line = "atoll-config: ";
  runtime::append_escaped(line, message);
  std::cerr << line << '\n';
}

int print_text(const std::vector<ModelReport>& reports, bool print) {
  size_t errors = 0, warnings = 0;
  for (const ModelReport& report : reports) {
    for (const Problem& problem : report.problems) std::cout << problem_line(problem);
    if (print) std::cout << config_text(report);
    errors += count(report, Severity::kError);
    warnings += count(report, Severity::kWarning);
  }
  std::cout << std::flush;
  std::cerr << "models: " << reports.size() << ", errors: " << errors << ", warnings: " << warnings << '\n';
  return errors == 0 ? kFine : kProblems;
}

int print_json(const std::vector<ModelReport>& reports, bool print) {
  auto text = report_json(reports, print);
  if (!text.ok()) {
    complain(text.status().text());
    return kUnreadable;
  }
  std::cout << *text << std::flush;
  for (const ModelReport& report : reports) {
    if (count(report, Severity::kError) != 0) return kProblems;
  }
  return kFine;
}

int check(const Arguments& arguments) {
  std::vector<ModelReport> reports;
  bool unreadable = false;
  for (const std::string& path : arguments.paths) {
    auto found = check_path(path, arguments.options);
    if (!found.ok()) {
      complain(found.status().text());
      unreadable = true;
      continue;
    }
    for (ModelReport& report : *found) reports.push_back(std::move(report));
  }
  int code = arguments.json ? print_json(reports, arguments.print) : print_text(reports, arguments.print);
  return unreadable ? kUnreadable : code;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Looks at Triton model configurations without a server.", "atoll-config");
  app.require_subcommand(1);
  app.set_version_flag("--version", lib::version_text("atoll-config"));
  auto* command = app.add_subcommand("check", "Tell everything that is wrong with model configurations");
  command
      ->add_option("PATH", arguments.paths, "Model repositories, models' directories or config.pbtxt files")
      ->required();
  command->add_flag("--json", arguments.json, "Print one JSON object");
  command->add_flag("--print", arguments.print, "Print the resulting configuration of models without errors");
  command->add_flag("--strict", arguments.options.strict,
                    "Configurations must be complete, as with auto_complete_config = false");
  command
      ->add_option("--config-name", arguments.options.config_name,
                   "Prefer configs/NAME.pbtxt to config.pbtxt")
      ->type_name("NAME");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::Error& error) {
    complain(cat(error.what(), " (see atoll-config --help)"));
    return kUnreadable;
  }
  return check(arguments);
}

}  // namespace
}  // namespace atl::config

int main(int argc, char** argv) {
  try {
    return atl::config::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "atoll-config: " << error.what() << '\n';
    return 2;
  }
}
