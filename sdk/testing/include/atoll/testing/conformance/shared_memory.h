/// Conformance of "atoll.shared_memory/1".
#pragma once

#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>

#include "atoll/memory/shared_memory.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/random.h"
#include "atoll/testing/shared_memory_object.h"

namespace atl::test {

struct SharedMemoryProvider {
  std::string name;
  /// A fresh one, with room for a hundred regions of a few pages; what it needs, such as a guard against objects
  /// that shrink, lives as long as the pointer.
  /// \param clients_may  whether clients may register
  std::function<std::shared_ptr<SharedMemory>(bool clients_may)> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const SharedMemoryProvider& provider, std::ostream* out) { *out << provider.name; }
};

class SharedMemoryConformance : public Conformance<SharedMemoryProvider> {
 protected:
  using Range = std::pair<uint64_t, uint64_t>;  ///< offset and size, bytes
  static constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

  void make(bool clients_may = true) {
    memory_ = GetParam().make(clients_may);
    ASSERT_NE(memory_, nullptr);
  }
  Status add(const std::string& name, const TestObject& object, uint64_t offset, uint64_t byte_size) {
    return memory_->register_system(name, object.key(), offset, byte_size);
  }
  /// The part, released at the end of the lease's life.
  class Part {
   public:
    Part(SharedMemory& memory, const std::string& region, uint64_t offset, uint64_t byte_size)
        : memory_(memory), lease_(memory.acquire(region, offset, byte_size)) {}
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    ~Part() {
      if (lease_.ok()) memory_.release(*lease_);
    }
    const Result<RegionLease>& result() const { return lease_; }
    const Buffer& buffer() const { return lease_.value().buffer; }
    volatile char* bytes() const { return static_cast<char*>(buffer().data); }
    Status check() const { return memory_.check(lease_.value()); }

   private:
    SharedMemory& memory_;
    Result<RegionLease> lease_;
  };
  /// Names of the regions of a kind, in the order in which they are listed.
  std::vector<std::string> names(RegionKind kind = RegionKind::kSystem) const {
    auto listed = memory_->status(kind, "");
    EXPECT_TRUE(is_ok(listed));
    std::vector<std::string> found;
    if (!listed.ok()) return found;
    for (const SharedMemoryRegion& region : *listed) found.push_back(region.name);
    return found;
  }

  std::shared_ptr<SharedMemory> memory_;
};

TEST_P(SharedMemoryConformance, APartIsTheClientsMemory) {
  check([&] {
    make();
    TestObject object(2 * page());
    ASSERT_TRUE(is_ok(add("r", object, page() - 4, 64)));
    Part part(*memory_, "r", 2, 60);
    ASSERT_TRUE(is_ok(part.result()));
    EXPECT_EQ(part.buffer().size_bytes, 60u);
    EXPECT_EQ(part.buffer().kind, MemoryKind::kCpu);
    object.data()[page() - 2] = std::byte{42};
    EXPECT_EQ(part.bytes()[0], 42);
    part.bytes()[59] = 43;
    EXPECT_EQ(object.data()[page() + 57], std::byte{43});
    EXPECT_TRUE(is_ok(part.check()));
  });
}

TEST_P(SharedMemoryConformance, StatusShowsWhatIsRegistered) {
  check([&] {
    make();
    EXPECT_EQ(names(), std::vector<std::string>());
    TestObject object(page());
    ASSERT_TRUE(is_ok(add("b", object, 16, 32)));
    ASSERT_TRUE(is_ok(add("c", object, 0, page())));
    ASSERT_TRUE(is_ok(add("a", object, 0, 1)));
    EXPECT_EQ(names(), (std::vector<std::string>{"a", "b", "c"})) << "by name";
    EXPECT_EQ(names(RegionKind::kCuda), std::vector<std::string>());
    auto one = memory_->status(RegionKind::kSystem, "b");
    ASSERT_TRUE(is_ok(one));
    ASSERT_EQ(one->size(), 1u);
    EXPECT_EQ(one->front().name, "b");
    EXPECT_EQ(one->front().kind, RegionKind::kSystem);
    EXPECT_EQ(one->front().key, object.key());
    EXPECT_EQ(one->front().offset, 16u);
    EXPECT_EQ(one->front().byte_size, 32u);
    EXPECT_TRUE(is_failure(memory_->status(RegionKind::kSystem, "x"), Code::kNotFound, "'x'"));
    EXPECT_TRUE(is_failure(memory_->status(RegionKind::kCuda, "b"), Code::kNotFound, "'b'"));
  });
}

TEST_P(SharedMemoryConformance, ANameIsTakenUntilItIsUnregistered) {
  check([&] {
    make();
    TestObject object(page()), other(page());
    ASSERT_TRUE(is_ok(add("r", object, 0, 8)));
    EXPECT_TRUE(is_failure(add("r", other, 0, 8), Code::kAlreadyExists, "'r'"));
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kCuda, "r"))) << "of another kind, so unknown";
    EXPECT_EQ(names(), std::vector<std::string>{"r"});
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "r")));
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "r"))) << "unknown now";
    EXPECT_TRUE(is_failure(memory_->acquire("r", 0, 1), Code::kNotFound, "'r'"));
    ASSERT_TRUE(is_ok(add("r", other, 0, 8)));
    other.data()[0] = std::byte{7};
    Part part(*memory_, "r", 0, 1);
    ASSERT_TRUE(is_ok(part.result()));
    EXPECT_EQ(part.bytes()[0], 7) << "the new object";
  });
}

TEST_P(SharedMemoryConformance, UnregisteringAllOfAKindLeavesNone) {
  check([&] {
    make();
    TestObject object(page());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(is_ok(add(cat("r", i), object, 0, 8)));
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kCuda, "")));
    EXPECT_EQ(names().size(), 20u);
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "")));
    EXPECT_EQ(names(), std::vector<std::string>());
    EXPECT_EQ(object.mappings(), 0);
  });
}

TEST_P(SharedMemoryConformance, OnlyWhatIsInTheObjectIsRegistered) {
  check([&] {
    make();
    TestObject object(100);
    for (auto [offset, size] : std::vector<Range>{{0, 101},
                                                  {1, 100},
                                                  {100, 1},
                                                  {101, 1},
                                                  {0, 0},
                                                  {1ULL << 63, 1},
                                                  {kMost, 1},
                                                  {kMost, 2},
                                                  {1, kMost},
                                                  {kMost, kMost}}) {
      EXPECT_TRUE(is_failure(add("r", object, offset, size), Code::kInvalidArgument))
          << offset << " " << size;
    }
    EXPECT_EQ(names(), std::vector<std::string>());
    EXPECT_EQ(object.mappings(), 0) << "what was refused is not kept";
    EXPECT_TRUE(is_ok(add("whole", object, 0, 100)));
    EXPECT_TRUE(is_ok(add("last", object, 99, 1)));
  });
}

TEST_P(SharedMemoryConformance, OnlyWhatIsInTheRegionIsGiven) {
  check([&] {
    make();
    TestObject object(page());
    ASSERT_TRUE(is_ok(add("r", object, 8, 64)));
    for (auto [offset, size] : std::vector<Range>{{64, 1},
                                                  {63, 2},
                                                  {0, 65},
                                                  {65, 0},
                                                  {0, kMost},
                                                  {1, kMost},
                                                  {63, kMost - 62},
                                                  {kMost, 1},
                                                  {kMost, kMost}}) {
      Part part(*memory_, "r", offset, size);
      EXPECT_TRUE(is_failure(part.result(), Code::kInvalidArgument, "'r'")) << offset << " " << size;
    }
    for (auto [offset, size] : std::vector<Range>{{0, 64}, {63, 1}, {0, 0}}) {
      Part part(*memory_, "r", offset, size);
      EXPECT_TRUE(is_ok(part.result())) << offset << " " << size;
    }
    for (const std::string& name : {std::string("x"), std::string(), std::string(100'000, 'r')}) {
      EXPECT_TRUE(is_failure(memory_->acquire(name, 0, 1), Code::kNotFound));
    }
  });
}

TEST_P(SharedMemoryConformance, KeysAreThoseOfObjects) {
  check([&] {
    make();
    TestObject object(page());
    const std::string bare = object.key().substr(object.key().find_first_not_of('/'));
    for (const std::string& slashes : {std::string(), std::string("/"), std::string("///")}) {
      ASSERT_TRUE(is_ok(memory_->register_system("r", slashes + bare, 0, 8))) << slashes;
      EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "r")));
    }
    EXPECT_TRUE(is_failure(memory_->register_system("r", "/atoll-test-none", 0, 1), Code::kInternal));
    for (const std::string& key :
         {std::string("/"), bare + "/x", std::string("../") + bare, std::string("..")}) {
      EXPECT_FALSE(memory_->register_system("r", key, 0, 1).ok()) << key;
    }
    EXPECT_EQ(names(), std::vector<std::string>());
  });
}

TEST_P(SharedMemoryConformance, AHandleThatIsNoneIsRefused) {
  check([&] {
    make();
    const std::vector<std::byte> none(64), bytes(3);
    for (int64_t device : {int64_t{0}, int64_t{-1}, int64_t{4096}}) {
      EXPECT_TRUE(is_failure(memory_->register_cuda("c", none, device, 64), Code::kInvalidArgument))
          << device;
      EXPECT_TRUE(is_failure(memory_->register_cuda("c", bytes, device, 64), Code::kInvalidArgument))
          << device;
      EXPECT_TRUE(is_failure(memory_->register_cuda("c", {}, device, 64), Code::kInvalidArgument)) << device;
    }
    EXPECT_EQ(names(RegionKind::kCuda), std::vector<std::string>());
  });
}

TEST_P(SharedMemoryConformance, WhatIsHeldOutlivesItsRegion) {
  check([&] {
    make();
    TestObject object(page()), other(page());
    ASSERT_TRUE(is_ok(add("r", object, 0, 8)));
    object.data()[0] = std::byte{1};
    other.data()[0] = std::byte{2};
    {
      Part held(*memory_, "r", 0, 8), beside(*memory_, "r", 0, 4);
      ASSERT_TRUE(held.result().ok() && beside.result().ok());
      ASSERT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "r")));
      ASSERT_TRUE(is_ok(add("r", other, 0, 8))) << "the name is free at once";
      Part later(*memory_, "r", 0, 8);
      ASSERT_TRUE(is_ok(later.result()));
      EXPECT_EQ(held.bytes()[0], 1);
      EXPECT_EQ(later.bytes()[0], 2);
      EXPECT_TRUE(is_ok(held.check()));
      EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "")));
      EXPECT_EQ(later.bytes()[0], 2);
    }
    EXPECT_EQ(object.mappings(), 0) << "the last user is done";
    EXPECT_EQ(other.mappings(), 0);
  });
}

TEST_P(SharedMemoryConformance, AnObjectThatShrinksIsNoticed) {
  check([&] {
    make();
    TestObject object(4 * page()), other(page());
    ASSERT_TRUE(is_ok(add("r", object, 0, 4 * page())));
    ASSERT_TRUE(is_ok(add("other", other, 0, page())));
    Part part(*memory_, "r", 0, 4 * page()), beside(*memory_, "other", 0, page());
    ASSERT_TRUE(part.result().ok() && beside.result().ok());
    std::memset(object.data(), 1, 4 * page());
    object.resize(page());
    EXPECT_EQ(part.bytes()[0], 1) << "what is left";
    EXPECT_TRUE(is_ok(part.check())) << "nothing that has gone was touched";
    EXPECT_EQ(part.bytes()[2 * page()], 0);
    part.bytes()[3 * page()] = 5;
    EXPECT_TRUE(is_failure(part.check(), Code::kInvalidArgument, "'r'"));
    object.resize(4 * page());
    EXPECT_TRUE(is_failure(part.check(), Code::kInvalidArgument, "'r'")) << "from then on";
    EXPECT_TRUE(is_failure(memory_->acquire("r", 0, 1), Code::kInvalidArgument, "'r'")) << "for every user";
    beside.bytes()[0] = 9;
    EXPECT_TRUE(is_ok(beside.check())) << "another region";
    EXPECT_EQ(other.data()[0], std::byte{9});
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "r")));
    ASSERT_TRUE(is_ok(add("r", object, 0, page())));
    Part anew(*memory_, "r", 0, page());
    EXPECT_TRUE(is_ok(anew.result())) << "registered anew it is as good as any";
  });
}

TEST_P(SharedMemoryConformance, ClientsThatMayNotAreToldSo) {
  check([&] {
    make(false);
    TestObject object(page());
    EXPECT_TRUE(is_failure(add("r", object, 0, 1), Code::kUnimplemented));
    EXPECT_TRUE(is_failure(memory_->register_cuda("r", {}, 0, 1), Code::kUnimplemented));
    for (RegionKind kind : {RegionKind::kSystem, RegionKind::kCuda}) {
      EXPECT_TRUE(is_failure(memory_->unregister(kind, "r"), Code::kUnimplemented));
      EXPECT_TRUE(is_failure(memory_->unregister(kind, ""), Code::kUnimplemented));
      EXPECT_EQ(names(kind), std::vector<std::string>());
    }
    EXPECT_TRUE(is_failure(memory_->acquire("r", 0, 1), Code::kNotFound));
    EXPECT_EQ(object.mappings(), 0);
  });
}

TEST_P(SharedMemoryConformance, ThreadsRegisterUseAndUnregister) {
  check([&] {
    make();
    constexpr int kThreads = 4, kRounds = 300;
    TestObject objects[kThreads] = {TestObject(page()), TestObject(page()), TestObject(page()),
                                    TestObject(page())};
    for (int i = 0; i < kThreads; ++i) std::memset(objects[i].data(), 'a' + i, page());
    std::atomic<int> wrong = 0, used = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Random random(static_cast<uint64_t>(i) + 1);
        const std::string own = cat("own", i);
        for (int n = 0; n < kRounds; ++n) {
          wrong += !add(own, objects[i], 0, page()).ok();
          (void)add("shared", objects[i], 0, page()).ok();
          Part mine(*memory_, own, random.below(page()), 1), any(*memory_, "shared", random.below(page()), 1);
          wrong += !mine.result().ok() || mine.bytes()[0] != 'a' + i || !mine.check().ok();
          if (any.result().ok()) {
            const char byte = any.bytes()[0];
            wrong += byte < 'a' || byte >= 'a' + kThreads;
            ++used;
          }
          wrong += !memory_->unregister(RegionKind::kSystem, own).ok();
          if (n % 3 == 0) wrong += !memory_->unregister(RegionKind::kSystem, "shared").ok();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(used, 0) << "nothing was tested";
    EXPECT_TRUE(is_ok(memory_->unregister(RegionKind::kSystem, "")));
    for (const TestObject& object : objects) EXPECT_EQ(object.mappings(), 0);
  });
}

}  // namespace atl::test
