#include "launchers/common/instance_command.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace atl::launchers {
namespace {

/// The next "{name}" at or behind `from`. Braces around anything but a name are text.
struct Place {
  size_t begin = std::string_view::npos;
  std::string_view name;
};

Place find_place(std::string_view word, size_t from) {
  for (size_t begin = word.find('{', from); begin != std::string_view::npos;
       begin = word.find('{', begin + 1)) {
    const size_t end = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 1);
    if (end != std::string_view::npos && end > begin + 1 && word[end] == '}')
      return {begin, word.substr(begin + 1, end - begin - 1)};
  }
  return {};
}

}  // namespace

Result<InstanceCommand> InstanceCommand::parse(std::string_view text, PlaceNames known) {
  InstanceCommand line;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> std::ws && words.peek() != std::istringstream::traits_type::eof();) {
    const auto begin = static_cast<size_t>(words.tellg());
    const bool is_quoted = text[begin] == '"';
    if (is_quoted) {
      words >> std::quoted(word);
    } else {
      words >> word;
    }
    if (is_quoted && words.eof() && (text.size() == begin + 1 || text.back() != '"'))
      return invalid_argument("a double quote has no end");
    for (Place place = find_place(word, 0); !place.name.empty(); place = find_place(word, place.begin + 1)) {
      if (std::ranges::find(known, place.name) != known.end()) continue;
      std::string all;
      for (std::string_view name : known) all += cat(all.empty() ? "{" : ", {", name, "}");
      return invalid_argument("'{", place.name, "}' is filled by nobody; expected one of ", all);
    }
    line.words_.push_back(word);
  }
  if (line.words_.empty()) return invalid_argument("it is empty");
  return line;
}

bool InstanceCommand::has_place(std::string_view name) const {
  return std::ranges::any_of(words_, [&](const std::string& word) {
    for (Place place = find_place(word, 0); !place.name.empty(); place = find_place(word, place.begin + 1)) {
      if (place.name == name) return true;
    }
    return false;
  });
}

std::vector<std::string> InstanceCommand::fill(const Places& places) const {
  std::vector<std::string> filled;
  for (const std::string& word : words_) {
    std::string text;
    size_t from = 0;
    for (Place place = find_place(word, 0); !place.name.empty(); place = find_place(word, from)) {
      text.append(word, from, place.begin - from);
      text += places.find(place.name)->second;
      from = place.begin + place.name.size() + 2;
    }
    filled.push_back(text.append(word, from));
  }
  return filled;
}

void check_runtimes(OptionCheck& check, PlaceNames known) {
  for (const auto& [name, text] : check.options().get_map("runtimes"))
    check.passes("runtimes", InstanceCommand::parse(text, known), name);
}

Result<std::map<std::string, InstanceCommand>> read_runtimes(const Options& options, std::string_view atoll,
                                                             PlaceNames known) {
  std::map<std::string, std::string> texts = options.get_map("runtimes");
  texts.try_emplace("atoll", atoll);
  std::map<std::string, InstanceCommand> runtimes;
  for (const auto& [name, text] : texts) {
    Result<InstanceCommand> line = InstanceCommand::parse(text, known);
    if (!line.ok()) return std::move(line).status().note("option 'runtimes': '" + name + "'");
    runtimes.emplace(name, std::move(line).value());
  }
  if (const std::string& chosen = options.get_string("default_runtime"); !runtimes.contains(chosen))
    return invalid_argument("option 'default_runtime' is '", chosen, "', which is none of 'runtimes'");
  return runtimes;
}

bool is_server_id(std::string_view id) {
  const auto is_odd = [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-');
  };
  return !id.empty() && id.size() <= 128 && std::ranges::none_of(id, is_odd);
}

}  // namespace atl::launchers
