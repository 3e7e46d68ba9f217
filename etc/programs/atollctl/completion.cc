#include "completion.h"

#include <vector>

#include "atoll/core/text.h"

namespace atl::ctl {
namespace {

/// A command by its words, "lease name create", and what may follow.
struct Command {
  std::string path;
  std::vector<const CLI::App*> commands;
  std::vector<const CLI::Option*> options;
};

void collect(const CLI::App& app, const std::string& path, std::vector<const CLI::Option*> inherited,
             std::vector<Command>& all) {
  Command command{path, {}, {}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    command.commands.push_back(sub);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    inherited.push_back(option);
  }
  command.options = inherited;
  all.push_back(command);
  for (const CLI::App* sub : command.commands)
    collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), inherited, all);
}

std::string words_of(const Command& command) {
  std::string words;
  for (const CLI::App* sub : command.commands) words += sub->get_name() + " ";
  for (const CLI::Option* option : command.options) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  return words;
}

/// zsh has bash's way of it after bashcompinit.
std::string bash_script(const std::vector<Command>& all) {
  std::string script =
      "_atollctl() {\n"
      "  local path= word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$word\" in -*) ;; *) case \" $_atollctl_paths \" in *\" ${path:+$path/}$word \"*) "
      "path=\"${path:+$path/}$word\" ;; esac ;; esac\n"
      "  done\n"
      "  case \"$path\" in\n";
  std::string paths;
  for (const Command& command : all) {
    std::string path = command.path;
    for (char& c : path) c = c == ' ' ? '/' : c;
    if (!path.empty()) paths += path + " ";
    script += cat("    '", path, "') COMPREPLY=($(compgen -W '", words_of(command),
                  "' -- \"${COMP_WORDS[COMP_CWORD]}\")) ;;\n");
  }
  return cat("_atollctl_paths='", paths, "'\n", script,
             "  esac\n}\ncomplete -o default -F _atollctl atollctl\n");
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return quoted + "'";
}

std::string fish_script(const std::vector<Command>& all) {
  std::string script = "complete -c atollctl -f\n";
  for (const Command& command : all) {
    std::string condition = command.path.empty() ? "__fish_use_subcommand" : "";
    for (size_t begin = 0; begin < command.path.size();) {
      const size_t end = std::min(command.path.find(' ', begin), command.path.size());
      condition += cat(condition.empty() ? "" : "; and ", "__fish_seen_subcommand_from ",
                       command.path.substr(begin, end - begin));
      begin = end + 1;
    }
    for (const CLI::App* sub : command.commands) {
      script += cat("complete -c atollctl -n ", fish_quoted(condition), " -a ", sub->get_name(), " -d ",
                    fish_quoted(sub->get_description()), "\n");
    }
    for (const CLI::Option* option : command.options) {
      for (const std::string& name : option->get_lnames()) {
        script += cat("complete -c atollctl -n ", fish_quoted(condition), " -l ", name, " -d ",
                      fish_quoted(option->get_description()), "\n");
      }
    }
  }
  return script;
}

}  // namespace

std::optional<std::string> completion_script(const CLI::App& app, std::string_view shell) {
  std::vector<Command> all;
  collect(app, "", {}, all);
  if (shell == "bash") return bash_script(all);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(all);
  if (shell == "fish") return fish_script(all);
  return std::nullopt;
}

}  // namespace atl::ctl
