#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "atoll/core/clock.h"
#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"
#include "frontends/grpc_nghttp2/transport/frames/header_list.h"
#include "frontends/grpc_nghttp2/transport/memory_pool.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

TEST(TimeoutTest, UnitsAreReadAndRoundedUpToMilliseconds) {
  EXPECT_EQ(parse_timeout_ns("2H"), 7200 * kNsPerSecond);
  EXPECT_EQ(parse_timeout_ns("3M"), 180 * kNsPerSecond);
  EXPECT_EQ(parse_timeout_ns("15S"), 15 * kNsPerSecond);
  EXPECT_EQ(parse_timeout_ns("250m"), 250 * kNsPerMs);
  EXPECT_EQ(parse_timeout_ns("1u"), kNsPerMs);
  EXPECT_EQ(parse_timeout_ns("1000001n"), 2 * kNsPerMs);
  EXPECT_EQ(parse_timeout_ns("0n"), 0);
}

TEST(TimeoutTest, MoreThanAServerLivesIsForEver) {
  EXPECT_EQ(parse_timeout_ns("99999999H"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_timeout_ns("1000000001n"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_timeout_ns("99999999999999999999999S"), std::numeric_limits<int64_t>::max());
}

TEST(TimeoutTest, WhatIsNoneIsNone) {
  for (const char* text : {"", "1", "S", "1x", "-1S", "1 S", "1.5S", "S1"}) {
    EXPECT_FALSE(parse_timeout_ns(text)) << text;
  }
}

TEST(PercentTest, OnlyWhatIsNotPrintableIsEncoded) {
  EXPECT_EQ(percent_encoded("plain text ~"), "plain text ~");
  EXPECT_EQ(percent_encoded("\xC3\xA4%\n"), "%C3%A4%25%0A");
}

TEST(Base64Test, PaddingMayBeThere) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("YQ=="), "a");
  EXPECT_EQ(decode_base64("YQ"), "a");
  EXPECT_EQ(decode_base64("YWI="), "ab");
  EXPECT_EQ(decode_base64("YWJj"), "abc");
  EXPECT_EQ(decode_base64("AAECAw"), std::string("\0\1\2\3", 4));
}

TEST(Base64Test, WhatIsNotBase64IsRefused) {
  for (const char* text : {"Y", "YQ=", "Y===", "YQ==YQ==", "Y Q=", "Y-_=", "YR==", "!"}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

TEST(TimeoutTest, WhatIsWrittenIsReadAgain) {
  EXPECT_EQ(timeout_text(0), "0m");
  EXPECT_EQ(timeout_text(1), "1m");
  EXPECT_EQ(timeout_text(250 * kNsPerMs), "250m");
  for (const int64_t seconds : {1, 99'999, 100'000, 200'000'000}) {
    const std::string text = timeout_text(seconds * kNsPerSecond + 1);
    EXPECT_LE(text.size(), 9u) << text;
    EXPECT_GT(parse_timeout_ns(text), seconds * kNsPerSecond) << text;
  }
}

TEST(PercentTest, WhatIsEncodedIsDecodedAgain) {
  for (const std::string text : {"", "plain", "\xC3\xA4%\n", "100%"}) {
    EXPECT_EQ(percent_decoded(percent_encoded(text)), text);
  }
  for (const char* text : {"%", "%4", "%zz", "a%"}) EXPECT_EQ(percent_decoded(text), text);
  EXPECT_EQ(percent_decoded("%e4%C3x"), "\xE4\xC3x");
}

TEST(Base64Test, IsWrittenWithoutPadding) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("a"), "YQ");
  EXPECT_EQ(encode_base64("ab"), "YWI");
  EXPECT_EQ(encode_base64("abc"), "YWJj");
  std::string all;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(decode_base64(encode_base64(all)), all);
    all.push_back(static_cast<char>(i));
  }
}

TEST(HeaderListTest, KeepsOrderAndFindsTheFirst) {
  HeaderList list;
  list.add("x-one", "1");
  list.add("x-two", "");
  list.add("x-one", "2");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1].name, "x-two");
  EXPECT_EQ(list[1].value, "");
  EXPECT_EQ(list[2].value, "2");
  EXPECT_EQ(list.find("x-one"), "1");
  EXPECT_EQ(list.find("x-three"), "");
  list.clear();
  EXPECT_EQ(list.size(), 0u);
}

TEST(MemoryPoolTest, GivesTheSamePieceAgain) {
  MemoryPool pool;
  void* first = pool.allocate(100);
  pool.free(first);
  EXPECT_EQ(pool.allocate(128), first);
  void* other = pool.allocate(128);
  EXPECT_NE(other, first);
  pool.free(first);
  pool.free(other);
}

TEST(MemoryPoolTest, GrowsAPieceWithWhatIsInIt) {
  MemoryPool pool;
  auto* text = static_cast<char*>(pool.allocate(3));
  text[0] = 'a';
  text[2] = 'c';
  EXPECT_EQ(pool.reallocate(text, 20), text);
  auto* larger = static_cast<char*>(pool.reallocate(text, 100'000));
  EXPECT_EQ(larger[0], 'a');
  EXPECT_EQ(larger[2], 'c');
  pool.free(larger);
  EXPECT_EQ(pool.allocate(SIZE_MAX - 3), nullptr);
  pool.free(nullptr);
}

TEST(MemoryPoolTest, FrameBuffersTakeNoMoreMemoryThanIsUsed) {
  constexpr size_t kBytes = 16'400;
  MemoryPool pool;
  std::vector<uint8_t*> pieces;
  for (int i = 0; i < 200; ++i) {
    pieces.push_back(static_cast<uint8_t*>(pool.allocate(kBytes)));
    ASSERT_NE(pieces.back(), nullptr);
    std::memset(pieces.back(), i, kBytes);
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(std::count(pieces[i], pieces[i] + kBytes, static_cast<uint8_t>(i)),
              static_cast<ptrdiff_t>(kBytes));
  }
  uint8_t* const last = pieces.back();
  for (uint8_t* piece : pieces) pool.free(piece);
  // What was freed is used again, and what was in it is gone with its memory.
  auto* again = static_cast<uint8_t*>(pool.allocate(kBytes));
  EXPECT_EQ(again, last);
  EXPECT_EQ(again[kBytes - 1], 0);
  auto* grown = static_cast<uint8_t*>(pool.reallocate(again, 300'000));
  ASSERT_NE(grown, nullptr);
  pool.free(grown);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
