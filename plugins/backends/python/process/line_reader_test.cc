#include "backends/python/process/line_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::python {
namespace {

class LineReaderTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines_;
  LineReader reader_{[this](std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(LineReaderTest, LinesAreWholeHoweverTheyCome) {
  for (std::string_view part : {"on", "e\ntwo\n\nthr", "ee", "\nrest"}) reader_.add(part, 0);
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two", "", "three"}));
  reader_.finish(0);
  EXPECT_EQ(lines_.back(), "rest");
}

TEST_F(LineReaderTest, ALongLineIsCut) {
  reader_.add(std::string(LineReader::kLineBytesMax, 'a') + "\n" +
                  std::string(2 * LineReader::kLineBytesMax + 1, 'b') + "\nc\n",
              0);
  std::vector<size_t> sizes;
  for (const std::string& line : lines_) sizes.push_back(line.size());
  EXPECT_EQ(sizes, (std::vector<size_t>{8192, 8192, 8192, 1, 1}));
}

TEST_F(LineReaderTest, TooManyAreCountedAndLeftOut) {
  for (uint32_t i = 0; i < LineReader::kLinesPerSecond + 500; ++i) reader_.add(cat(i, "\n"), 5);
  EXPECT_EQ(lines_.size(), LineReader::kLinesPerSecond);
  reader_.add("next\n", 5 + kNsPerSecond);
  ASSERT_EQ(lines_.size(), LineReader::kLinesPerSecond + 2);
  EXPECT_EQ(lines_[LineReader::kLinesPerSecond], "(500 lines were left out: more than 1000 a second)");
  EXPECT_EQ(lines_.back(), "next");
}

TEST_F(LineReaderTest, TheLastOnesAreKept) {
  for (int i = 0; i < 100; ++i) reader_.add(cat(i, "\n"), 0);
  EXPECT_EQ(reader_.last_lines().size(), LineReader::kKeptLines);
  EXPECT_EQ(reader_.last_lines().front(), "80");
  EXPECT_EQ(reader_.last_lines().back(), "99");
}

}  // namespace
}  // namespace atl::python
