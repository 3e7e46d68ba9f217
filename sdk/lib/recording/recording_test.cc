/// Recordings, whole, cut and damaged.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "atoll/lib/recording_reader.h"
#include "atoll/lib/recording_writer.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"

namespace atl {
namespace {

using recording::v1::Entry;
using Ending = RecordingReader::Ending;

/// Gives at most so many bytes at a time.
RecordingReader::Source source_of(std::string bytes, size_t step = SIZE_MAX) {
  return [bytes = std::move(bytes), step, at = size_t{0}](std::span<char> room) mutable -> Result<size_t> {
    const size_t count = std::min({room.size(), step, bytes.size() - at});
    std::memcpy(room.data(), bytes.data() + at, count);
    at += count;
    return count;
  };
}

Entry request(uint64_t number, size_t bytes) {
  Entry entry;
  entry.mutable_request()->set_number(number);
  entry.mutable_request()->set_model("m");
  recording::v1::Tensor& input = *entry.mutable_request()->add_inputs();
  input.set_name("x");
  input.set_data(std::string(bytes, static_cast<char>(number)));
  return entry;
}

std::string header() {
  std::string bytes;
  EXPECT_TRUE(append_entry(header_entry(7, 1, true, false), &bytes));
  return bytes;
}

/// The numbers of the requests that are read.
std::vector<uint64_t> numbers(RecordingReader& reader) {
  std::vector<uint64_t> found;
  for (Entry entry; reader.next(&entry);) found.push_back(entry.request().number());
  return found;
}

TEST(Recording, IsReadAsItWasWritten) {
  std::string bytes = header();
  // Sizes with one, two and three bytes, beyond what is read at once.
  for (uint64_t number : {1, 2, 3}) {
    ASSERT_TRUE(append_entry(request(number, number == 1 ? 10 : number == 2 ? 1'000 : 200'000), &bytes));
  }
  for (size_t step : {size_t{1}, size_t{1'000}, SIZE_MAX}) {
    RecordingReader reader(source_of(bytes, step));
    ASSERT_EQ(reader.begin().text(), "OK");
    EXPECT_EQ(reader.header().began_unix_ns(), 7);
    EXPECT_TRUE(reader.header().tensors());
    EXPECT_FALSE(reader.header().responses());
    Entry entry;
    ASSERT_TRUE(reader.next(&entry));
    ASSERT_TRUE(reader.next(&entry));
    ASSERT_TRUE(reader.next(&entry));
    EXPECT_EQ(entry.request().inputs(0).data(), std::string(200'000, '\3'));
    EXPECT_FALSE(reader.next(&entry));
    EXPECT_EQ(reader.ending(), Ending::kWhole);
    EXPECT_EQ(reader.read_bytes(), bytes.size());
    EXPECT_FALSE(reader.next(&entry)) << "the end stays the end";
  }
}

TEST(Recording, IsReadUpToWhereItIsCut) {
  std::string bytes = header();
  std::vector<size_t> ends = {bytes.size()};  // of the header and of each request
  for (uint64_t number = 1; number <= 4; ++number) {
    ASSERT_TRUE(append_entry(request(number, number * 70), &bytes));
    ends.push_back(bytes.size());
  }
  for (size_t size = 0; size <= bytes.size(); ++size) {
    RecordingReader reader(source_of(bytes.substr(0, size)));
    const auto whole = static_cast<size_t>(
        std::count_if(ends.begin(), ends.end(), [size](size_t end) { return end <= size; }));
    const Status begun = reader.begin();
    ASSERT_EQ(begun.ok(), whole > 0) << size << ": " << begun.text();
    if (!begun.ok()) continue;
    EXPECT_EQ(numbers(reader).size(), whole - 1) << size;
    EXPECT_EQ(reader.read_bytes(), ends[whole - 1]) << size;
    const bool at_end = std::find(ends.begin(), ends.end(), size) != ends.end();
    EXPECT_EQ(reader.ending(), at_end ? Ending::kWhole : Ending::kCut) << size;
  }
}

TEST(Recording, ThatIsNoneIsRefused) {
  for (const std::string& bytes : {std::string(), std::string("{\"a\": 1}"), std::string(200, '\xFF')}) {
    RecordingReader reader(source_of(bytes));
    EXPECT_EQ(reader.begin().text(), "this is not a recording: it does not begin with the header of one");
    EXPECT_TRUE(numbers(reader).empty());
  }
  Entry newer = header_entry(0, 1, true, true);
  newer.mutable_header()->set_format_version(2);
  std::string bytes;
  ASSERT_TRUE(append_entry(newer, &bytes));
  RecordingReader reader(source_of(bytes));
  EXPECT_EQ(reader.begin().text(), "the recording has format version 2, this program reads up to 1");
}

TEST(Recording, DamageEndsIt) {
  std::string bytes = header();
  ASSERT_TRUE(append_entry(request(1, 10), &bytes));
  const std::string_view kDamage[] = {
      {"\x01\x12", 2},                             // an entry that breaks off within itself
      "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",  // a size without an end
      "\x81\x80\x80\x80\x04 "                      // a size beyond what is allowed: 1 GiB and 1 byte
  };
  for (std::string_view damage : kDamage) {
    RecordingReader reader(source_of(bytes + std::string(damage)));
    ASSERT_TRUE(reader.begin().ok());
    EXPECT_EQ(numbers(reader), std::vector<uint64_t>{1});
    EXPECT_EQ(reader.ending(), Ending::kDamaged);
  }
}

TEST(Recording, ASizeAloneTakesNoMemory) {
  // Claims 1 GiB and has a few bytes: the source is never asked for much more than was there.
  size_t largest = 0, calls = 0;
  const std::string bytes = header() + std::string("\x80\x80\x80\x80\x04 abc", 9);
  RecordingReader reader([&](std::span<char> room) -> Result<size_t> {
    largest = std::max(largest, room.size());
    if (calls++ != 0) return size_t{0};
    std::memcpy(room.data(), bytes.data(), bytes.size());
    return bytes.size();
  });
  ASSERT_TRUE(reader.begin().ok());
  EXPECT_TRUE(numbers(reader).empty());
  EXPECT_EQ(reader.ending(), Ending::kCut);
  EXPECT_LE(largest, size_t{1} << 20);
}

TEST(Recording, AFailureOfTheSourceIsTold) {
  const std::string bytes = header();
  RecordingReader reader([&, calls = 0](std::span<char> room) mutable -> Result<size_t> {
    if (calls++ != 0) return unavailable("the cable is out");
    std::memcpy(room.data(), bytes.data(), bytes.size());
    return bytes.size();
  });
  ASSERT_TRUE(reader.begin().ok());
  EXPECT_TRUE(numbers(reader).empty());
  EXPECT_EQ(reader.ending(), Ending::kFailed);
  EXPECT_EQ(reader.failure().message(), "the cable is out");
}

TEST(Recording, AFolderIsNone) {
  test::TemporaryDirectory folder;
  const FileDescriptor file(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC));
  RecordingReader reader(atl::source_of(file));
  EXPECT_EQ(reader.begin().text(), "the recording cannot be read: Is a directory");
}

}  // namespace
}  // namespace atl
