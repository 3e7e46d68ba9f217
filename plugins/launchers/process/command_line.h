/// What is executed for a server, with places for what is known only when it is started.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/status.h"

namespace atl::launchers {

/// By name, without the braces.
using Places = std::map<std::string, std::string, std::less<>>;

class CommandLine {
 public:
  /// Words between blanks; one that begins with a double quote goes on to the next one, and has \" and \\ for these two
  /// characters. {repository} and the like anywhere in them are places.
  /// Errors: INVALID_ARGUMENT no words, a quote without end, or a place that nobody fills.
  static Result<CommandLine> parse(std::string_view text);

  bool has_place(std::string_view name) const;
  /// \param places  all there are
  std::vector<std::string> fill(const Places& places) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace atl::launchers
