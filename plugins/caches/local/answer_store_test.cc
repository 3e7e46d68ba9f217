#include "caches/local/answer_store.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"

namespace atl::caches {
namespace {

CacheKey key(uint64_t number) {
  test::Random random(number);
  CacheKey made;
  made.low = random.next();
  made.high = random.next();
  return made;
}

KeptAnswer::Ref answer(std::string bytes) {
  Response response;
  OutputTensor& output = response.add_output("OUT", DataType::kUint8, std::vector<int64_t>{1});
  output.buffer.data = bytes.data();
  output.buffer.size_bytes = bytes.size();
  return KeptAnswer::copy_of(response);
}

std::string bytes_of(const KeptAnswer::Ref& kept) {
  if (!kept) return "none";
  test::TestRequest request;
  request.mark_accepted();
  kept->answer(request.request());
  return request.response().outputs[0].bytes;
}

TEST(AnswerStore, OtherLimitsLeaveWhatThereIsRoomFor) {
  AnswerStore store(1 << 20, 0);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(store.insert(key(i), answer("x"), static_cast<int64_t>(i)));
  const uint64_t of_one = store.used_bytes() / 4;
  store.follow(2 * of_one, 5);
  EXPECT_EQ(store.entries(), 2u);
  EXPECT_EQ(bytes_of(store.find(key(3), 100)), "x") << "the last used ones stay, and have no end";
  EXPECT_EQ(bytes_of(store.find(key(0), 100)), "none");
  EXPECT_TRUE(store.insert(key(9), answer("y"), 100));
  EXPECT_EQ(bytes_of(store.find(key(9), 104)), "y");
  EXPECT_EQ(bytes_of(store.find(key(9), 105)), "none");
}

TEST(AnswerStore, GivesWhatItWasGiven) {
  AnswerStore store(1 << 20, 0);
  EXPECT_FALSE(store.find(key(1), 0));
  EXPECT_TRUE(store.insert(key(1), answer("one"), 0));
  EXPECT_TRUE(store.insert(key(2), answer("two"), 0));
  EXPECT_EQ(bytes_of(store.find(key(1), 0)), "one");
  EXPECT_EQ(bytes_of(store.find(key(2), 0)), "two");
  EXPECT_TRUE(store.insert(key(1), answer("other"), 0));
  EXPECT_EQ(bytes_of(store.find(key(1), 0)), "other");
  EXPECT_EQ(store.entries(), 2u);
}

TEST(AnswerStore, ComparesMoreThanTheHash) {
  AnswerStore store(1 << 20, 0);
  CacheKey other = key(1);
  other.input_bytes = 1;
  store.insert(key(1), answer("one"), 0);
  EXPECT_FALSE(store.find(other, 0));
}

TEST(AnswerStore, AnAnswerLastsForItsTime) {
  AnswerStore store(1 << 20, 100);
  store.insert(key(1), answer("one"), 1000);
  EXPECT_TRUE(store.find(key(1), 1099));
  EXPECT_FALSE(store.find(key(1), 1100)) << "being asked for does not make it younger";
  EXPECT_EQ(store.entries(), 0u);
  EXPECT_EQ(store.used_bytes(), 0u);
  EXPECT_EQ(store.evictions(), 0u);
}

TEST(AnswerStore, WhatIsLargerThanAllOfItIsNotKept) {
  AnswerStore store(4096, 0);
  store.insert(key(1), answer("one"), 0);
  EXPECT_FALSE(store.insert(key(2), answer(std::string(5000, 'x')), 0));
  EXPECT_FALSE(store.takes(4096));
  EXPECT_TRUE(store.find(key(1), 0));
}

TEST(AnswerStore, AnAnswerThatMadeWayIsThereForWhoHasIt) {
  AnswerStore store(4096, 0);
  store.insert(key(1), answer(std::string(3000, 'a')), 1);
  const KeptAnswer::Ref held = store.find(key(1), 2);
  store.insert(key(2), answer(std::string(3000, 'b')), 3);
  EXPECT_FALSE(store.find(key(1), 4));
  EXPECT_EQ(bytes_of(held), std::string(3000, 'a'));
}

/// A map in the order of use, with the same sizes.
class Oracle {
 public:
  explicit Oracle(uint64_t size_bytes, int64_t ttl_ns) : size_bytes_(size_bytes), ttl_ns_(ttl_ns) {}
  std::string find(uint64_t number, int64_t now_ns) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->number != number) continue;
      if (now_ns >= entry->until_ns) {
        entries_.erase(entry);
        return "none";
      }
      entries_.splice(entries_.begin(), entries_, entry);
      return entries_.front().bytes;
    }
    return "none";
  }
  void insert(uint64_t number, const std::string& bytes, uint64_t size, int64_t now_ns) {
    while (used() + size > size_bytes_ && !entries_.empty()) entries_.pop_back();
    entries_.remove_if([&](const Entry& entry) { return entry.number == number; });
    entries_.push_front({number, bytes, size, now_ns + ttl_ns_});
  }

 private:
  struct Entry {
    uint64_t number;
    std::string bytes;
    uint64_t size;
    int64_t until_ns;
  };
  uint64_t used() const {
    uint64_t sum = 0;
    for (const Entry& entry : entries_) sum += entry.size;
    return sum;
  }
  const uint64_t size_bytes_;
  const int64_t ttl_ns_;
  std::list<Entry> entries_;
};

TEST(AnswerStore, DoesAsAMapInTheOrderOfUse) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    test::Random random(seed);
    constexpr uint64_t kSize = 20'000;
    AnswerStore empty(kSize, 0);
    const uint64_t overhead = [&] {
      empty.insert(key(1), answer("x"), 0);
      return empty.used_bytes() - answer("x")->size_bytes();
    }();
    AnswerStore store(kSize, 1000);
    Oracle oracle(kSize, 1000);
    int64_t now_ns = 1;
    for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
      now_ns += 1 + static_cast<int64_t>(random.below(20));
      const uint64_t number = random.below(40);
      if (random.chance(40)) {
        const std::string bytes(random.below(3000), static_cast<char>('a' + random.below(26)));
        const KeptAnswer::Ref kept = answer(bytes);
        EXPECT_TRUE(store.insert(key(number), kept, now_ns));
        oracle.insert(number, bytes, kept->size_bytes() + overhead, now_ns);
      } else {
        EXPECT_EQ(bytes_of(store.find(key(number), now_ns)), oracle.find(number, now_ns)) << "step " << i;
      }
      EXPECT_LE(store.used_bytes(), kSize);
    }
    EXPECT_GT(store.evictions(), 0u);
  }
}

TEST(AnswerStore, ThreadsKeepToTheLimit) {
  AnswerStore store(50'000, 0);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      test::Random random(t);
      for (int64_t i = 0; i < 3000; ++i) {
        const uint64_t number = random.below(100);
        const std::string wanted = cat(number, std::string(number * 10, 'x'));
        if (random.chance(50)) store.insert(key(number), answer(wanted), i);
        const KeptAnswer::Ref found = store.find(key(number), i);
        EXPECT_TRUE(!found || bytes_of(found) == wanted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store.used_bytes(), 50'000u);
  EXPECT_GT(store.entries(), 0u);
}

}  // namespace
}  // namespace atl::caches
