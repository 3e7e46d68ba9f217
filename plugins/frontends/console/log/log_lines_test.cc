#include "frontends/console/log/log_lines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::frontends::console {
namespace {

std::string text_of(const LogLine& line) {
  return cat(line.time, "|", line.level, "|", line.instance, "|", line.text);
}

struct LogFile {
  void write(std::string_view text) { std::ofstream(path(), std::ios::app) << text; }
  std::string path() const { return (folder.path() / "log").string(); }
  std::string read(const std::string& query = {}) const {
    const Result<LogQuery> asked = LogQuery::parse(query);
    EXPECT_TRUE(asked.ok());
    std::string all;
    for (const LogLine& line : read_log(path(), asked.value()).lines) all += cat(line.text, ";");
    return all;
  }
  test::TemporaryDirectory folder;
};

TEST(LogLines, BothFormatsAndNone) {
  EXPECT_EQ(text_of(parse_log_line("2026-01-31T10:00:00.000001Z WARN  [http] a [b] c")),
            "2026-01-31T10:00:00.000001Z|warning|http|a [b] c");
  EXPECT_EQ(text_of(parse_log_line(
                R"({"ts":"2026-01-31T10:00:00Z","level":"error","instance":"x","message":"<img \"q\">\n"})")),
            "2026-01-31T10:00:00Z|error|x|<img \"q\">\n");
  for (const char* other : {"", "{", "{}", "[1]", R"({"ts":{"a":1}})", "a b c", "2026 INFO ", "2026 INFO  [",
                            "2026 INFO  [x]", "2026 OTHER [x] y", "2026 INFO  x] y"})
    EXPECT_EQ(text_of(parse_log_line(other)), cat("|||", other)) << other;
}

TEST(LogLines, NewestFirstAndFiltered) {
  LogFile log;
  log.write("t INFO  [a] one\nt ERROR [b] two\nof another program\nt WARN  [a] Three\nt INFO  [a] not whole");
  EXPECT_EQ(log.read(), "Three;of another program;two;one;");
  EXPECT_EQ(log.read("limit=2"), "Three;of another program;");
  EXPECT_EQ(log.read("limit=0"), "");
  EXPECT_EQ(log.read("level=warning"), "Three;two;");
  EXPECT_EQ(log.read("search=T%48REE"), "Three;");
  EXPECT_EQ(log.read("search=[b]"), "two;");
  for (const char* wrong : {"limit=1001", "limit=x", "level=loud", "page=1"})
    EXPECT_FALSE(LogQuery::parse(wrong).ok()) << wrong;
}

TEST(LogLines, OnlyTheEndOfALongFileIsRead) {
  LogFile log;
  for (int i = 0; i < 3000; ++i) log.write(cat("t INFO  [a] ", i, std::string(1000, 'x'), "\n"));
  const LogLines found = read_log(log.path(), {.search = {}, .level = {}, .limit = 1000});
  EXPECT_EQ(found.lines.size(), 1000U);
  EXPECT_TRUE(found.lines.back().text.starts_with("2000x"));
  const LogLines rare = read_log(log.path(), {.search = "] 3x", .level = {}, .limit = 1000});
  EXPECT_EQ(rare.lines.size(), 0U) << "it is too far from the end";
  log.write(std::string(2 << 20, 'y'));
  EXPECT_EQ(read_log(log.path(), {}).lines.size(), 0U) << "one line is longer than what is read";
}

TEST(LogLines, WhatIsNoFileIsSaid) {
  LogFile log;
  EXPECT_NE(read_log(log.path(), {}).why.find("cannot be read"), std::string::npos);
  ASSERT_EQ(::mkfifo(log.path().c_str(), 0600), 0);
  const LogLines pipe = read_log(log.path(), {});
  EXPECT_NE(pipe.why.find("no file"), std::string::npos) << pipe.why;
  EXPECT_EQ(log_json(pipe), cat(R"({"source":"","why":")", pipe.why, R"(","lines":[]})"));
}

TEST(LogLines, AnyByteBecomesJson) {
  LogFile log;
  log.write("\xff\x01\"\n");
  EXPECT_EQ(
      log_json(read_log(log.path(), {})),
      "{\"source\":\"file\",\"why\":\"\",\"lines\":[{\"time\":\"\",\"level\":\"\",\"instance\":\"\",\"text\":\"\uFFFD\\u0001\\\"\"}]}");
}

}  // namespace
}  // namespace atl::frontends::console
