/// What was probably meant by a flag that there is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/runtime/problems.h"

namespace atl::lib {

/// ", did you mean '--manifest'?" for the first flag that CLI11 did not know while it parsed; empty: there is no
/// such flag, or none that is near. \param app  a CLI::App; a template, so that its header is not needed here
template <class App>
std::string flag_suggestion(const App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& word : app.remaining()) {
    if (word.starts_with("--"))
      return runtime::suggestion(std::string_view(word).substr(0, word.find('=')), known);
  }
  return "";
}

}  // namespace atl::lib
