#include "frontends/console/log/log_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"
#include "atoll/lib/checked_document.h"
#include "atoll/lib/json_depth.h"
#include "atoll/lib/json_writer.h"
#include "frontends/console/query_parts.h"

namespace atl::frontends::console {
namespace {

constexpr uint64_t kMostLogLines = 1000;
constexpr off_t kMostLogBytes = off_t{1} << 20;
constexpr const char* kStandardError = "/proc/self/fd/2";
/// As the log writes them, and as requests name them.
constexpr std::string_view kLogLevels[] = {"trace", "debug", "info", "warning", "error"};
constexpr std::string_view kLevelColumns[] = {"TRACE", "DEBUG", "INFO ", "WARN ", "ERROR"};

/// -1: it is none.
int64_t level_number(std::string_view name) noexcept {
  const auto* const found = std::find(std::begin(kLogLevels), std::end(kLogLevels), name);
  return found == std::end(kLogLevels) ? -1 : found - std::begin(kLogLevels);
}

LogLine parse_object(std::string_view line) {
  LogLine made;
  made.text = line;
  if (is_json_deeper_than(line, 1)) return made;
  CheckedDocument document;
  document.Parse(line.data(), line.size());
  if (document.HasParseError() || !document.IsObject()) return made;
  const auto read = [&](const char* name, std::string& to) {
    const auto found = document.FindMember(name);
    if (found != document.MemberEnd() && found->value.IsString())
      to.assign(found->value.GetString(), found->value.GetStringLength());
  };
  read("ts", made.time);
  read("level", made.level);
  read("instance", made.instance);
  read("message", made.text);
  return made;
}

/// The end of a file, from the begin of a line on. Errors: it is no file that can be read.
Result<std::string> read_end(const char* path) {
  // Whatever stands there, such as a pipe: nobody waits for it.
  const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts = {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return unavailable(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return unavailable("it is no file");
  const off_t from = std::max<off_t>(0, facts.st_size - kMostLogBytes);
  std::string text(static_cast<size_t>(facts.st_size - from), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got =
        ::pread(file.get(), text.data() + size, text.size() - size, from + static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // it was cut meanwhile
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  if (from > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

bool is_asked_for(const LogLine& line, std::string_view whole, const LogQuery& query) {
  if (!query.level.empty() && level_number(line.level) < level_number(query.level)) return false;
  return contains_text(whole, query.search);
}

}  // namespace

Result<LogQuery> LogQuery::parse(std::string_view text) {
  LogQuery query;
  for (auto& [name, value] : query_parts(text)) {
    if (name == "search") {
      query.search = std::move(value);
    } else if (name == "level") {
      if (level_number(value) < 0 && !value.empty())
        return invalid_argument("found the level '", value,
                                "', expected trace, debug, info, warning or error");
      query.level = std::move(value);
    } else if (name == "limit") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.limit));
    } else {
      return invalid_argument("found '", name, "', expected search, level or limit");
    }
  }
  if (query.limit > kMostLogLines) return invalid_argument("the limit may be at most ", kMostLogLines);
  return query;
}

LogLine parse_log_line(std::string_view line) {
  if (line.starts_with('{')) return parse_object(line);
  LogLine made;
  made.text = line;
  const size_t level = line.find(' ') + 1;
  if (level == 0 || line.size() < level + 7) return made;
  const auto* const column = std::find(std::begin(kLevelColumns), std::end(kLevelColumns),
                                       line.substr(level, kLevelColumns[0].size()));
  const size_t instance = level + kLevelColumns[0].size() + 2;  // behind " ["
  const size_t end = line.find("] ", instance);
  if (column == std::end(kLevelColumns) || line[instance - 1] != '[' || end == std::string_view::npos)
    return made;
  made.time = line.substr(0, level - 1);
  made.level = kLogLevels[column - std::begin(kLevelColumns)];
  made.instance = line.substr(instance, end - instance);
  made.text = line.substr(end + 2);
  return made;
}

LogLines read_log(const std::string& file, const LogQuery& query) {
  LogLines found;
  const Result<std::string> text = read_end(file.empty() ? kStandardError : file.c_str());
  if (!text.ok()) {
    found.why =
        file.empty()
            ? std::string(
                  "The log goes to standard error, which is not a file here. Set file of [log] in the "
                  "manifest, or look where standard error goes, such as into the journal.")
            : cat("The log's file cannot be read: ", text.status().message());
    return found;
  }
  found.source = file.empty() ? "stderr" : "file";
  std::string_view rest = text.value();
  // What stands behind the last line break is not written yet.
  rest = rest.substr(0, rest.rfind('\n') + 1);
  while (!rest.empty() && found.lines.size() < query.limit) {
    rest.remove_suffix(1);
    const size_t begin = rest.rfind('\n') + 1;
    const std::string_view whole = rest.substr(begin);
    LogLine line = parse_log_line(whole);
    if (is_asked_for(line, whole, query)) found.lines.push_back(std::move(line));
    rest = rest.substr(0, begin);
  }
  return found;
}

std::string log_json(const LogLines& lines) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "source", lines.source);
    write_member(json, "why", lines.why);
    write_array(json, "lines", lines.lines, [&](const LogLine& line) {
      write_object(json, [&] {
        write_member(json, "time", line.time);
        write_member(json, "level", line.level);
        write_member(json, "instance", line.instance);
        write_member(json, "text", line.text);
      });
    });
  });
}

}  // namespace atl::frontends::console
