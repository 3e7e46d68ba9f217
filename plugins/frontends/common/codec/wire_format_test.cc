#include "frontends/common/codec/wire_format.h"

#include <gtest/gtest.h>

#include <string>

#include "frontends/common/testing/codec_test_support.h"

namespace atl::frontends {
namespace {

TEST(WireReader, ReadsVarintsOfEveryLengthAcrossSlices) {
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{16384},
                         uint64_t{1} << 35, uint64_t{1} << 62, UINT64_MAX}) {
    uint8_t bytes[16];
    WireWriter writer(bytes);
    writer.varint(value);
    const std::string text(reinterpret_cast<char*>(bytes), static_cast<size_t>(writer.at() - bytes));
    EXPECT_EQ(text.size(), varint_size(value));
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      SlicedBytes slices(text, {cut});
      WireReader reader(slices.spans());
      uint64_t read = ~value;
      ASSERT_TRUE(reader.read_varint(&read));
      EXPECT_EQ(read, value);
      EXPECT_TRUE(reader.at_end());
    }
    SlicedBytes cut_short(text.substr(0, text.size() - 1));
    WireReader reader(cut_short.spans());
    uint64_t read = 0;
    EXPECT_FALSE(reader.read_varint(&read));
  }
}

TEST(WireReader, RefusesAVarintOfElevenBytes) {
  SlicedBytes slices(std::string(10, '\xFF') + '\x01');
  WireReader reader(slices.spans());
  uint64_t value = 0;
  EXPECT_FALSE(reader.read_varint(&value));
}

TEST(WireReader, RefusesFieldNumberZeroAndTagsOver32Bits) {
  for (const std::string& bytes :
       {std::string("\x00", 1), std::string("\x02"), std::string("\x80\x80\x80\x80\x10")}) {
    SlicedBytes slices(bytes);
    WireReader reader(slices.spans());
    uint32_t field = 0;
    WireType type{};
    EXPECT_FALSE(reader.read_tag(&field, &type));
  }
}

TEST(WireReader, RefusesALengthBeyondTheEnd) {
  for (const std::string& bytes : {std::string("\x05"
                                               "abcd"),
                                   std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")}) {
    SlicedBytes slices(bytes);
    WireReader reader(slices.spans());
    WireReader inner;
    EXPECT_FALSE(reader.open(&inner));
  }
}

TEST(WireReader, ASubMessageEndsAtItsLength) {
  SlicedBytes slices(
      "\x03"
      "abcdef",
      {2, 5});
  WireReader reader(slices.spans());
  WireReader inner;
  ASSERT_TRUE(reader.open(&inner));
  EXPECT_EQ(inner.left(), 3u);
  EXPECT_EQ(reader.left(), 3u);
  Arena arena;
  EXPECT_EQ(inner.text(arena), "abc");
  uint64_t value = 0;
  EXPECT_FALSE(inner.read_varint(&value));
  EXPECT_EQ(reader.text(arena), "def");
}

TEST(WireReader, RefusesGroups) {
  SlicedBytes slices("\x08\x01\x0C");
  WireReader reader(slices.spans());
  EXPECT_FALSE(reader.skip_value(WireType::kStartGroup));
  EXPECT_FALSE(reader.skip_value(WireType::kEndGroup));
  EXPECT_FALSE(reader.skip_value(static_cast<WireType>(6)));
}

TEST(WireReader, BorrowsOneBufferASlice) {
  SlicedBytes slices("abcdefgh", {0, 3, 3, 5});
  WireReader reader(slices.spans());
  ASSERT_TRUE(reader.skip(1));
  Arena arena;
  std::span<const Buffer> buffers = reader.borrow(arena);
  ASSERT_EQ(buffers.size(), 3u);
  EXPECT_EQ(buffers[0].size_bytes, 2u);
  EXPECT_EQ(buffers[1].size_bytes, 2u);
  EXPECT_EQ(buffers[2].size_bytes, 3u);
  EXPECT_EQ(buffers[0].data, slices.spans()[1].data() + 1);
}

}  // namespace
}  // namespace atl::frontends
