// The codec against protobuf: on messages that both understand they must agree, and on damaged ones the codec
// must at least stay inside its slices.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "frontends/common/testing/random_messages.h"

namespace atl::frontends {
namespace {

using test::Random;

constexpr int kMessages = 4000;
constexpr int kMutations = 60000;

TEST(V2InferRequestDifferential, ReadsRandomMessagesAsProtobufDoes) {
  Random random(20240607);
  for (int i = 0; i < kMessages; ++i) {
    const std::string bytes = random_message(random);
    inference::ModelInferRequest expected;
    ASSERT_TRUE(expected.ParseFromString(bytes)) << "message " << i;
    ReadMessage read(bytes, SlicedBytes::random_cuts(bytes.size(), random.below(12), random));
    ASSERT_TRUE(read.ok()) << "message " << i << ": " << read.status().text();
    ASSERT_EQ(difference(expected, read), "") << "message " << i;
  }
}

TEST(V2InferRequestDifferential, EverySplitOfAMessageReadsTheSame) {
  Random random(7);
  std::string bytes;
  while (bytes.size() < 200 || bytes.size() > 2000) bytes = random_message(random);
  inference::ModelInferRequest expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ReadMessage read(bytes, {cut});
    ASSERT_TRUE(read.ok()) << "cut at " << cut;
    ASSERT_EQ(difference(expected, read), "") << "cut at " << cut;
  }
  std::vector<size_t> every_byte;
  for (size_t cut = 1; cut < bytes.size(); ++cut) every_byte.push_back(cut);
  ReadMessage read(bytes, every_byte);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(difference(expected, read), "");
}

std::string mutated(std::string bytes, Random& random) {
  for (size_t i = 0, count = 1 + random.below(4); i < count && !bytes.empty(); ++i) {
    size_t at = random.below(bytes.size());
    switch (random.below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random.next());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(16)));
        break;
      default:
        bytes.erase(at, 1 + random.below(8));
    }
  }
  return bytes;
}

TEST(V2InferRequestDifferential, DamagedMessagesAreRefusedOrReadAsProtobufDoes) {
  google::protobuf::SetLogHandler(nullptr);  // damaged texts would be reported, thousands of them
  Random random(99);
  std::vector<std::string> seeds;
  for (int i = 0; i < 200; ++i) seeds.push_back(random_message(random));
  int agreed = 0;
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string bytes = mutated(seeds[random.below(seeds.size())], random);
    ReadMessage read(bytes, SlicedBytes::random_cuts(bytes.size(), random.below(4), random));
    inference::ModelInferRequest expected;
    if (!read.ok()) {
      EXPECT_FALSE(read.status().message().empty());
      ++refused;
    } else if (expected.ParseFromString(bytes)) {
      ASSERT_EQ(difference(expected, read), "") << "mutation " << i;
      ++agreed;
    }
  }
  EXPECT_GT(agreed, kMutations / 20);
  EXPECT_GT(refused, kMutations / 20);
}

}  // namespace
}  // namespace atl::frontends
