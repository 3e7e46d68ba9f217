// atoll-lint: whether a plugin keeps the rules that loading and unloading it safely demand.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/toml.h"
#include "atoll/lib/version.h"
#include "checks.h"

namespace atl::lint {
namespace {

constexpr size_t kLinesMax = 20;
constexpr int kUsageError = 2;
constexpr char kUsage[] =
    "usage: atoll-lint [--set KEY=VALUE]... PLUGIN.so...\n"
    "Says whether plugins keep the rules that loading and unloading them safely demand.\n"
    "\n"
    "  --set KEY=VALUE   an option of the instance that is run, in TOML; what is no TOML is text\n"
    "  -h, --help        this text\n"
    "  --version         which build this is\n"
    "\n"
    "Looks at each file's symbols, then, in a process of its own, loads it, has it check its options, makes an\n"
    "instance and asks it for the interfaces that it provides, starts, stops and destroys it, unloads it, and\n"
    "all of that again.\n"
    "Options have their defaults; those that a manifest must give get made-up values unless --set gives them.\n"
    "Each step may take 5 s, loading 30 s; what has not returned after 30 s hangs and is ended.\n"
    "A plugin that needs another one's services is made, but not started. Lines that begin with \"note:\" say\n"
    "what was not looked at. Each of the lines begins with the file's name.\n"
    "\n"
    "Exit code: 0 all files are good, 1 some are not, 2 usage.\n";

struct CommandLine {
  runtime::RawValue::Table settings;
  std::vector<std::string> files;
  bool help = false;
  bool version = false;
};

Result<CommandLine> parse(int argc, char** argv) {
  CommandLine line;
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (only_files || !word.starts_with('-')) {
      line.files.push_back(word);
    } else if (word == "-h" || word == "--help") {
      line.help = true;
    } else if (word == "--version") {
      line.version = true;
    } else if (word == "--") {
      only_files = true;
    } else if (word == "--set" || word.starts_with("--set=")) {
      if (word == "--set" && i + 1 == argc)
        return invalid_argument("--set: found nothing, expected KEY=VALUE");
      std::string text = word == "--set" ? argv[++i] : word.substr(6);
      size_t equals = text.find('=');
      if (equals == 0 || equals == std::string::npos)
        return invalid_argument("--set: found '", text, "', expected KEY=VALUE");
      runtime::SourceLocation where{cat("--set ", text.substr(0, equals)), 0, 0};
      std::string value = text.substr(equals + 1);
      line.settings.push_back(
          {text.substr(0, equals), where,
           lib::parse_toml_value(value, where).value_or(runtime::RawValue{value, where})});
    } else {
      return invalid_argument("found '", word, "', expected --set, --help, --version or a file");
    }
  }
  if (line.files.empty() && !line.help && !line.version)
    return invalid_argument("found no file, expected one or more plugins");
  return line;
}

void print(const std::string& path, const char* kind, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size() && i < kLinesMax; ++i)
    std::printf("%s: %s%s\n", path.c_str(), kind, lines[i].c_str());
  if (lines.size() > kLinesMax)
    std::printf("%s: %sand %zu more\n", path.c_str(), kind, lines.size() - kLinesMax);
}

bool lint(const std::string& path, const runtime::RawValue::Table& settings) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  LintFindings findings;
  if (!file.is_open()) {
    findings.problem("cannot be read");
  } else if (auto facts = read_elf(bytes); !facts.ok()) {
    findings.problem(facts.status().text());
  } else {
    check_file(facts.value(), findings);
    check_loading(path, facts.value(), settings, findings);
  }
  print(path, "note: ", findings.notes());
  print(path, "", findings.problems());
  if (findings.problems().empty()) std::printf("%s: ok\n", path.c_str());
  std::fflush(stdout);
  return findings.problems().empty();
}

}  // namespace
}  // namespace atl::lint

int main(int argc, char** argv) {
  using namespace atl::lint;
  auto line = parse(argc, argv);
  if (!line.ok()) {
    std::fprintf(stderr, "atoll-lint: %s\n%s", line.status().text().c_str(), kUsage);
    return kUsageError;
  }
  if (line->help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (line->version) {
    std::puts(atl::lib::version_text("atoll-lint").c_str());
    return 0;
  }
  bool good = true;
  for (const std::string& file : line->files) good &= lint(file, line->settings);
  return good ? 0 : 1;
}
