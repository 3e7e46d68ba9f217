#include "mistakes.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "atoll/core/host_port.h"
#include "atoll/core/text.h"
#include "atoll/runtime/problems.h"

namespace atl::ctl {
namespace {

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return runtime::suggestion(word, known);
}

/// The command that was given last, such as `create` of `atollctl pool create`.
const CLI::App& last_command(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : last_command(*given.front());
}

std::string help_of(const CLI::App& command) {
  std::string path = command.get_name();
  for (const CLI::App* of = command.get_parent(); of != nullptr; of = of->get_parent())
    path = cat(std::string_view(of->get_name()), " ", path);
  return cat("; see ", path, " --help");
}

}  // namespace

std::string what_is_missing(const CLI::App& app, const std::vector<std::string>& given,
                            const CLI::RequiredError& error) {
  const CLI::App* at = &app;
  std::string path = app.get_name(), word;
  for (size_t i = 0; i < given.size() && word.empty(); ++i) {
    if (given[i].starts_with('-')) {
      // Options of the program are understood behind its commands, too.
      const CLI::Option* option = at->get_option_no_throw(given[i]);
      if (option == nullptr) option = app.get_option_no_throw(given[i]);
      if (option != nullptr && option->get_expected_max() > 0) ++i;
      continue;
    }
    const auto next = at->get_subcommands([&](const CLI::App* one) { return one->check_name(given[i]); });
    if (next.empty()) {
      word = given[i];
    } else {
      at = next.front();
      path += cat(" ", given[i]);
    }
  }
  std::string commands;
  std::vector<std::string> names;
  for (const CLI::App* one : at->get_subcommands({})) {
    commands += cat(commands.empty() ? "" : ", ", std::string_view(one->get_name()));
    names.push_back(one->get_name());
  }
  if (commands.empty()) return cat("atollctl: ", std::string_view(error.what()), "; see ", path, " --help");
  if (word.empty()) return cat(path, ": a command is missing, one of ", commands);
  return cat(path, ": there is no command '", word, "'", suggestion(word, names), "; there are ", commands);
}

/// Only names of flags: what stands behind one may be a secret, as in "--token SECRET".
std::string what_is_not_known(const CLI::App& app) {
  const CLI::App& command = last_command(app);
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with('-')) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (flag == "--token")
      return cat("atollctl: there is no option '--token': give tokens by --token-file or ATOLL_TOKEN",
                 help_of(command));
    std::vector<std::string> names;
    for (const CLI::App* of = &command; of != nullptr; of = of->get_parent()) {
      for (const CLI::Option* option : of->get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return cat("atollctl: there is no option '", flag, "'", suggestion(flag, names), help_of(command));
  }
  return cat("atollctl: there are more arguments than the command takes", help_of(command));
}

std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  const bool is_complete = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
  return cat("atollctl: ", std::string_view(error.what()), is_complete ? "" : help_of(last_command(app)));
}

std::string wrong_target(std::string_view url) {
  const size_t scheme = url.find("://");
  const bool is_http =
      scheme == std::string_view::npos || url.starts_with("http://") || url.starts_with("https://");
  std::string_view host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  host = host.substr(0, host.find('/'));
  host.remove_prefix(host.rfind('@') + 1);  // a name and a password
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  const bool is_host = !host.empty() && host.find(' ') == std::string_view::npos &&
                       (!has_port || HostPort::parse(host).has_value());
  if (is_http && is_host) return "";
  return cat("--target (or ATOLL_TARGET): found '", url,
             "', expected http://HOST:PORT or https://HOST:PORT, such as http://127.0.0.1:8000");
}

CLI::Option* add_number(CLI::App& app, const std::string& names, uint64_t least, uint64_t most,
                        const std::string& help, std::function<void(uint64_t)> set) {
  const std::string name = names.substr(names.find("--"));
  const auto read = [=, set = std::move(set)](const std::string& text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
      throw CLI::ValidationError(
          name, cat("found '", text, "', expected a whole number from ", least, " to ", most));
    set(value);
  };
  return app.add_option_function<std::string>(names, read, help)->type_name("N");
}

}  // namespace atl::ctl
