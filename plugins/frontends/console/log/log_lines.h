/// The last lines of the log, from the file that it goes to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::frontends::console {

/// Which lines are asked for.
struct LogQuery {
  std::string search;    ///< part of the line, without regard to the case of ASCII letters; empty: all
  std::string level;     ///< the lowest that is asked for: "warning"; empty: all
  uint64_t limit = 200;  ///< at most 1,000

  /// Reads "search=a%20b&level=warning&limit=100", whose parts may all be missing.
  /// Errors: INVALID_ARGUMENT an unknown part or level, no number where one belongs, too large a limit.
  static Result<LogQuery> parse(std::string_view text);
};

/// A line of the log; of one that is in no format of the log only the text is known.
struct LogLine {
  std::string time, level, instance, text;
};

/// "2026-01-31T10:00:00.000000Z INFO  [http] text", or an object with "ts", "level", "instance" and "message".
LogLine parse_log_line(std::string_view line);

struct LogLines {
  /// Where they are from: "file"; "stderr", which goes to a file; "" if they cannot be read back.
  std::string source;
  std::string why;             ///< there are none, for a person; empty: there are
  std::vector<LogLine> lines;  ///< that were asked for, newest first
};

/// Reads the end of a file, 1 MiB at most. [worker]
/// \param file  LogSettings::file; empty: standard error
LogLines read_log(const std::string& file, const LogQuery& query);

std::string log_json(const LogLines& lines);

}  // namespace atl::frontends::console
