// atoll-config check PATH...: whether model configurations are right, without a server.
// atoll-config import tfserving|ovms FILE OUT: a repository and a manifest from the configuration of another server.
// Exit code: 0 no errors, 1 some, 2 a path cannot be read, or the command line is wrong.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "atoll/lib/flag_suggestion.h"
#include "atoll/lib/version.h"
#include "atoll/runtime/escape.h"
#include "atoll/runtime/problems.h"
#include "check_path.h"
#include "import/write_import.h"
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

struct ImportArguments {
  std::string file, out;
  ImportOptions options;
  uint16_t grpc_port = 0, http_port = 0;  ///< 0: those of the other server
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

/// Beside this program, as in a build tree and as installed; empty: it is not there.
std::filesystem::path plugins_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path().parent_path() / "lib/atoll/plugins";
  return !error && std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

int import_models(Result<ImportPlan> (*read)(const std::filesystem::path&), ImportArguments arguments) {
  arguments.options.plugins = plugins_folder();
  auto plan = read(arguments.file);
  Status status;
  if (plan.ok()) {
    if (arguments.grpc_port != 0) plan->grpc_port = arguments.grpc_port;
    if (arguments.http_port != 0) plan->http_port = arguments.http_port;
    status = write_import(*plan, arguments.out, arguments.options);
  } else {
    status = std::move(plan).status();
  }
  if (!status.ok()) {
    complain(status.text());
    return status.code() == Code::kInvalidArgument ? kProblems : kUnreadable;
  }
  for (const std::string& line : plan->left_out) {
    std::string text = "not carried over: ";
    runtime::append_escaped(text, line);
    std::cout << text << '\n';
  }
  std::cout << std::flush;
  std::cerr << "models: " << plan->models.size() << "; start the server with: atoll --manifest "
            << arguments.out << "/atoll.toml\n";
  return kFine;
}

/// The command `import NAME`. \returns it, which was parsed if its parse is true
CLI::App* add_import(CLI::App& import, const std::string& name, const std::string& what,
                     ImportArguments& arguments) {
  CLI::App* const command = import.add_subcommand(name, what);
  command->add_option("FILE", arguments.file, "The other server's configuration")->required();
  command->add_option("OUT", arguments.out, "The folder to make: models/ and atoll.toml")->required();
  command->add_flag("--link", arguments.options.links, "Link the models' files in place of copying them");
  command
      ->add_option("--poll", arguments.options.poll_seconds,
                   "Seconds between two looks for changes; 0: never")
      ->check(CLI::Range(0, 86'400).description(""))
      ->capture_default_str();
  command->add_option("--port", arguments.grpc_port, "Port of gRPC; 0: the other server's default");
  command->add_option("--rest-port", arguments.http_port, "Port of HTTP; 0: the other server's default");
  return command;
}

/// CLI11 does not name the commands there are when one is misspelt or missing. Empty: neither is the case.
std::string command_problem(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (const char* word : words) {
    std::vector<std::string> names;
    std::string all;
    for (const CLI::App* one : at->get_subcommands({})) {
      names.push_back(one->get_name());
      all += cat(all.empty() ? "" : ", ", std::string_view(names.back()));
    }
    if (names.empty() || *word == '-') return "";
    if (const auto found = std::ranges::find(names, word); found != names.end()) {
      at = at->get_subcommand(*found);
      path += cat(' ', word);
      continue;
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    return cat("there is no command '", word, "' of ", path, runtime::suggestion(word, known), "; there are ",
               all);
  }
  std::string all;
  for (const CLI::App* one : at->get_subcommands({}))
    all += cat(all.empty() ? "" : ", ", std::string_view(one->get_name()));
  return all.empty() ? "" : cat(path, ": a command is missing, one of ", all);
}

/// ", did you mean '--json'?" for a flag that the given command does not have; or empty.
std::string near_flag(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string near = near_flag(*command); !near.empty()) return near;
  }
  return lib::flag_suggestion(app);
}

int run(int argc, char** argv) {
  Arguments arguments;
  ImportArguments imported;
  CLI::App app("Looks at Triton model configurations without a server, and makes them from other servers'.",
               "atoll-config");
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
  command
      ->add_option(
          "--linked-path", arguments.options.linked_paths,
          "A directory that links may lead into, as one of the repository's linked_paths; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  auto* import =
      app.add_subcommand("import", "Make a repository and a manifest from another server's configuration");
  import->require_subcommand(1);
  const auto* serving =
      add_import(*import, "tfserving", "From a models.config of TensorFlow Serving", imported);
  const auto* ovms = add_import(*import, "ovms", "From a config.json of OpenVINO Model Server", imported);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::Error& error) {
    const std::string problem = command_problem(app, std::span(argv + 1, argv + argc));
    complain(
        cat(problem.empty() ? cat(error.what(), near_flag(app)) : problem, " (see atoll-config --help)"));
    return kUnreadable;
  }
  if (serving->parsed()) return import_models(&read_serving_models, std::move(imported));
  if (ovms->parsed()) return import_models(&read_model_server, std::move(imported));
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
