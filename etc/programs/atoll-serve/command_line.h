/// The command line of `atoll serve` and `atoll demo`.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "serve_options.h"

namespace atl::serve {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  ///< it cannot be served
inline constexpr int kExitUsage = 2;    ///< the command line, or what is to be served

/// --help is answered on `out`, an error on `err`, one line. \param word  "serve" or "demo"
/// \returns what to do, or null with the process's exit code in `exit_code`.
std::optional<ServeOptions> read_command_line(const std::string& word,
                                              const std::vector<std::string>& arguments, std::ostream& out,
                                              std::ostream& err, int& exit_code);

/// `line` on one line, safe to print, after "atoll WORD: ".
std::string message_line(const std::string& word, std::string_view line);

}  // namespace atl::serve
