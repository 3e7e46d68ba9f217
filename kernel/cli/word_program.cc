#include "kernel/cli/word_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "atoll/runtime/escape.h"
#include "atoll/runtime/problems.h"

namespace atl::kernel {
namespace {

constexpr std::string_view kPrefix = "atoll-";

}  // namespace

std::vector<std::string> program_words(const std::string& folder) {
  std::vector<std::string> words;
  std::error_code error, ignored;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (name.starts_with(kPrefix) && file->is_regular_file(ignored) &&
        ::access(file->path().c_str(), X_OK) == 0)
      words.push_back(name.substr(kPrefix.size()));
  }
  std::sort(words.begin(), words.end());
  return words;
}

Result<std::string> find_program(const std::string& folder, std::string_view word) {
  const auto words = program_words(folder);
  if (std::find(words.begin(), words.end(), word) != words.end()) return cat(folder, "/", kPrefix, word);
  std::string all;
  for (const std::string& known : words) all += cat(all.empty() ? "; the words are " : ", ", known);
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string shown;
  runtime::append_escaped(shown, word);
  return not_found("unknown word '", shown, "'", runtime::suggestion(word, views), all,
                   " (see atoll --help)");
}

Status become_program(const std::string& folder, const char* const* argv) {
  auto path = find_program(folder, argv[1]);
  if (!path.ok()) return std::move(path).status();
  std::vector<char*> arguments = {path->data()};
  for (const char* const* next = argv + 2; *next != nullptr; ++next)
    arguments.push_back(const_cast<char*>(*next));
  arguments.push_back(nullptr);
  ::execv(path->c_str(), arguments.data());
  return internal_error("cannot run ", *path, ": ", std::strerror(errno));
}

}  // namespace atl::kernel
