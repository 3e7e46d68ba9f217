/// Conformance of "atoll.memory/1".
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "atoll/memory.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/random.h"

namespace atl::test {

struct MemoryProvider {
  std::string name;
  /// A fresh memory with a limit in bytes (0: none); what it needs lives as long as the pointer.
  std::function<std::shared_ptr<Memory>(uint64_t limit_bytes)> make;
  int64_t device_id = 0;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const MemoryProvider& provider, std::ostream* out) { *out << provider.name; }
};

class MemoryConformance : public Conformance<MemoryProvider> {
 protected:
  static constexpr uint64_t kMiB = 1 << 20;
  std::shared_ptr<Memory> make(uint64_t limit_bytes = 0) const { return GetParam().make(limit_bytes); }
  int64_t device() const { return GetParam().device_id; }
};

TEST_P(MemoryConformance, AllocationDescribesItself) {
  check([&] {
    auto memory = make();
    auto buffer = memory->allocate(1000, device());
    ASSERT_TRUE(is_ok(buffer));
    EXPECT_NE(buffer->data, nullptr);
    EXPECT_GE(buffer->size_bytes, 1000u);
    EXPECT_EQ(buffer->kind, memory->kind());
    EXPECT_EQ(buffer->device_id, device());
    memory->free(buffer.value());
  });
}

TEST_P(MemoryConformance, AddressesAreAlignedTo64) {
  check([&] {
    auto memory = make();
    std::vector<Buffer> held;
    for (uint64_t size : {0, 1, 3, 63, 64, 65, 100, 4095, 4096, 4097, 1 << 20}) {
      auto buffer = memory->allocate(size, device());
      ASSERT_TRUE(is_ok(buffer)) << size;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data) % 64, 0u) << size;
      held.push_back(buffer.value());
    }
    for (const Buffer& buffer : held) memory->free(buffer);
  });
}

TEST_P(MemoryConformance, SizeZeroGivesUniqueAddresses) {
  check([&] {
    auto memory = make();
    std::set<void*> addresses;
    std::vector<Buffer> held;
    for (int i = 0; i < 10; ++i) {
      auto buffer = memory->allocate(0, device());
      ASSERT_TRUE(is_ok(buffer));
      EXPECT_NE(buffer->data, nullptr);
      addresses.insert(buffer->data);
      held.push_back(buffer.value());
    }
    EXPECT_EQ(addresses.size(), held.size());
    for (const Buffer& buffer : held) memory->free(buffer);
  });
}

TEST_P(MemoryConformance, BuffersDoNotOverlap) {
  check([&] {
    auto memory = make();
    if (memory->kind() == MemoryKind::kGpu) return;  // no access from here; addresses are covered above
    std::vector<Buffer> held;
    for (uint32_t i = 0; i < 64; ++i) {
      auto buffer = memory->allocate(i * 37 + 1, device());
      ASSERT_TRUE(is_ok(buffer));
      std::memset(buffer->data, static_cast<int>(i), i * 37 + 1);
      held.push_back(buffer.value());
    }
    for (uint32_t i = 0; i < held.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(held[i].data);
      for (uint32_t at = 0; at < i * 37 + 1; ++at)
        ASSERT_EQ(bytes[at], i) << "buffer " << i << ", byte " << at;
      memory->free(held[i]);
    }
  });
}

TEST_P(MemoryConformance, UsedBytesReturnToTheStart) {
  check([&] {
    auto memory = make();
    uint64_t start = memory->used_bytes();
    std::vector<Buffer> held;
    uint64_t asked = 0;
    Random random(7);
    for (int i = 0; i < 50; ++i) {
      uint64_t size = random.below(10'000);
      auto buffer = memory->allocate(size, device());
      ASSERT_TRUE(is_ok(buffer));
      held.push_back(buffer.value());
      asked += size;
    }
    EXPECT_GE(memory->used_bytes(), start + asked);
    while (!held.empty()) {
      size_t index = random.below(held.size());
      memory->free(held[index]);
      held.erase(held.begin() + static_cast<ptrdiff_t>(index));
    }
    EXPECT_EQ(memory->used_bytes(), start);
  });
}

TEST_P(MemoryConformance, LimitRefusesAndRecovers) {
  check([&] {
    auto memory = make(kMiB);
    EXPECT_EQ(memory->limit_bytes(), kMiB);
    EXPECT_TRUE(is_failure(memory->allocate(2 * kMiB, device()), Code::kResourceExhausted));
    EXPECT_EQ(memory->used_bytes(), 0u) << "a refused allocation left something counted";
    std::vector<Buffer> held;
    while (held.size() < 5) {
      auto buffer = memory->allocate(kMiB / 4, device());
      if (!buffer.ok()) {
        EXPECT_TRUE(is_failure(buffer, Code::kResourceExhausted));
        break;
      }
      held.push_back(buffer.value());
    }
    EXPECT_EQ(held.size(), 4u);
    EXPECT_LE(memory->used_bytes(), kMiB);
    ASSERT_FALSE(held.empty());
    memory->free(held.back());
    held.pop_back();
    auto again = memory->allocate(kMiB / 4, device());
    EXPECT_TRUE(is_ok(again)) << "after a free";
    if (again.ok()) memory->free(again.value());
    for (const Buffer& buffer : held) memory->free(buffer);
    EXPECT_EQ(memory->used_bytes(), 0u);
  });
}

TEST_P(MemoryConformance, AbsurdSizesAreRefused) {
  check([&] {
    auto memory = make();
    for (uint64_t size : {UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - 4096, uint64_t{1} << 62}) {
      EXPECT_TRUE(is_failure(memory->allocate(size, device()), Code::kResourceExhausted)) << size;
    }
    EXPECT_EQ(memory->used_bytes(), 0u);
  });
}

TEST_P(MemoryConformance, UnknownDeviceIsRefused) {
  check([&] {
    auto memory = make();
    if (memory->kind() != MemoryKind::kGpu) return;  // there is one host
    for (int64_t id : {int64_t{-1}, int64_t{4096}, INT64_MAX}) {
      EXPECT_TRUE(is_failure(memory->allocate(64, id), Code::kInvalidArgument)) << id;
    }
  });
}

TEST_P(MemoryConformance, ThreadsShareOneLimit) {
  check([&] {
    auto memory = make(kMiB);
    std::atomic<bool> over{false};
    std::atomic<uint64_t> granted{0}, refused{0};
    std::vector<std::thread> threads;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      threads.emplace_back([&, seed] {
        Random random(seed);
        std::vector<Buffer> held;
        for (int i = 0; i < 300; ++i) {
          auto buffer = memory->allocate(random.below(kMiB / 4), device());
          if (buffer.ok()) {
            held.push_back(buffer.value());
            ++granted;
          } else {
            ++refused;
          }
          if (memory->used_bytes() > kMiB) over = true;
          if (!buffer.ok()) {
            for (const Buffer& old : held) memory->free(old);
            held.clear();
          }
        }
        for (const Buffer& old : held) memory->free(old);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(over) << "more than the limit was in use";
    EXPECT_GT(granted, 0u);
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(memory->used_bytes(), 0u);
  });
}

}  // namespace atl::test
