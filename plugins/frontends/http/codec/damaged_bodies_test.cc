// Bodies damaged at random: refused with a text, or read so that all that must hold holds.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "atoll/testing/random.h"
#include "frontends/http/codec/testing/codec_oracle.h"

namespace atl::frontends::http {
namespace {

using test::Random;

constexpr int kMutations = 30'000;

std::vector<std::string> corpus(const char* name) {
  std::vector<std::string> bodies;
  for (const auto& entry : std::filesystem::directory_iterator(cat(ATOLL_HTTP_CORPUS, "/", name))) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!bytes.empty() && bytes.size() < 4096) bodies.push_back(std::move(bytes));
  }
  EXPECT_GE(bodies.size(), 12u) << name;
  return bodies;
}

/// Texts that change what follows them.
std::string token(Random& random) {
  constexpr const char* kTokens[] = {"{",     "}",    "[",       "]",        ",",    ":",
                                     "\"",    "\\",   "-",       "0",        "1e",   "NaN",
                                     "null",  "true", "\\ud800", "\\u0000",  "-1",   ".5",
                                     "1e999", "Inf",  "\x80",    "{\"\":0}", "1e39", "999999999999999999999"};
  return kTokens[random.below(std::size(kTokens))];
}

std::string damaged(std::string bytes, Random& random) {
  for (size_t i = 0, count = 1 + random.below(3); i < count && !bytes.empty(); ++i) {
    const size_t at = random.below(bytes.size());
    switch (random.below(7)) {
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
        bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(32)));
        break;
      case 4:
        bytes.erase(at, 1 + random.below(8));
        break;
      default:
        bytes.insert(at, token(random));
    }
  }
  return bytes;
}

struct Outcome {
  int read = 0;
  int refused = 0;
};

template <class Check>
Outcome damage_all(const char* name, uint64_t seed, Check check) {
  Random random(seed);
  const std::vector<std::string> bodies = corpus(name);
  Outcome outcome;
  for (int i = 0; i < kMutations && !::testing::Test::HasFatalFailure(); ++i) {
    const std::string body = damaged(bodies[random.below(bodies.size())], random);
    check(body, &outcome);
  }
  return outcome;
}

TEST(DamagedBodies, Infer) {
  const Outcome outcome = damage_all("infer", 11, [](const std::string& body, Outcome* out) {
    const ReadBody read(body);
    ASSERT_EQ(check_infer(read, body.size()), "") << body;
    ++(read.status.ok() ? out->read : out->refused);
  });
  EXPECT_GT(outcome.read, kMutations / 100);
  EXPECT_GT(outcome.refused, kMutations / 5);
}

TEST(DamagedBodies, Binary) {
  const Outcome outcome = damage_all("binary", 12, [](const std::string& bytes, Outcome* out) {
    if (bytes.size() < 2) return;
    const size_t header = static_cast<uint8_t>(bytes[0]) + size_t{256} * static_cast<uint8_t>(bytes[1]);
    const ReadBody read(std::string_view(bytes).substr(2), header);
    ASSERT_EQ(check_infer(read, header), "") << bytes;
    ++(read.status.ok() ? out->read : out->refused);
  });
  EXPECT_GT(outcome.read, kMutations / 100);
  EXPECT_GT(outcome.refused, kMutations / 5);
}

TEST(DamagedBodies, Generate) {
  const ModelInfo model = every_type_model();
  const Outcome outcome = damage_all("generate", 13, [&](const std::string& body, Outcome* out) {
    const ReadGenerate read(body, model);
    ASSERT_EQ(check_generate(read, model), "") << body;
    ++(read.status.ok() ? out->read : out->refused);
  });
  EXPECT_GT(outcome.read, kMutations / 100);
  EXPECT_GT(outcome.refused, kMutations / 5);
}

}  // namespace
}  // namespace atl::frontends::http
