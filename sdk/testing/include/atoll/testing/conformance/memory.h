/// Conformance of "atoll.memory/1".
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "atoll/memory/memory.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/random.h"

namespace atl::test {

struct MemoryProvider {
  std::string name;
  /// A fresh memory with a limit in bytes (0: none); what it needs lives as long as the pointer.
  std::function<std::shared_ptr<Memory>(uint64_t limit_bytes)> make;
  int64_t device_id = 0;
  /// Of providers that open handles: memory of so many zeros that another process owns, and its handle; it
  /// lives as long as the pointer in it. Null: open_handle() is not implemented.
  struct Shared {
    std::vector<std::byte> handle;
    std::shared_ptr<void> owner;
  };
  std::function<Shared(uint64_t size_bytes)> share;
  /// allocate_growable() is implemented.
  bool grows = false;
  /// make_event() is implemented.
  bool has_events = false;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const MemoryProvider& provider, std::ostream* out) { *out << provider.name; }
};

class MemoryConformance : public Conformance<MemoryProvider> {
 protected:
  static constexpr uint64_t kMiB = 1 << 20;
  std::shared_ptr<Memory> make(uint64_t limit_bytes = 0) const { return GetParam().make(limit_bytes); }
  int64_t device() const { return GetParam().device_id; }

  static Buffer host_buffer(std::string& bytes) {
    Buffer buffer;
    buffer.data = bytes.data();
    buffer.size_bytes = bytes.size();
    return buffer;
  }
  static Buffer part_of(const Buffer& whole, uint64_t offset, uint64_t size_bytes) {
    Buffer part = whole;
    part.data = static_cast<char*>(whole.data) + offset;
    part.size_bytes = size_bytes;
    return part;
  }
  static std::string read(Memory& memory, const Buffer& from) {
    std::string bytes(from.size_bytes, '?');
    EXPECT_TRUE(is_ok(memory.copy(host_buffer(bytes), from)));
    return bytes;
  }
  static void write(Memory& memory, const Buffer& to, std::string bytes) {
    EXPECT_TRUE(is_ok(memory.copy(to, host_buffer(bytes))));
  }
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
      if (!GetParam().grows) continue;
      EXPECT_TRUE(is_failure(memory->allocate_growable(1, size, device()), Code::kResourceExhausted)) << size;
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

TEST_P(MemoryConformance, DevicesAreThoseThatMemoryCanBeHadOf) {
  check([&] {
    auto memory = make();
    const std::vector<int32_t> devices = memory->devices();
    EXPECT_TRUE(std::is_sorted(devices.begin(), devices.end()));
    EXPECT_EQ(std::adjacent_find(devices.begin(), devices.end()), devices.end());
    EXPECT_NE(std::find(devices.begin(), devices.end(), static_cast<int32_t>(device())), devices.end());
    for (int32_t id : devices) {
      auto buffer = memory->allocate(8, id);
      ASSERT_TRUE(is_ok(buffer)) << id;
      EXPECT_EQ(buffer->device_id, id);
      memory->free(buffer.value());
    }
    if (memory->kind() == MemoryKind::kGpu) return;
    EXPECT_EQ(devices, std::vector<int32_t>{0}) << "there is one host";
  });
}

TEST_P(MemoryConformance, CopiesThereWithinAndBack) {
  check([&] {
    auto memory = make();
    for (size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{4097}, size_t{1} << 20}) {
      std::string bytes(size, '\0');
      Random random(size + 1);
      for (char& byte : bytes) byte = static_cast<char>(random.below(256));
      auto first = memory->allocate(size, device());
      auto second = memory->allocate(size + 10, device());
      ASSERT_TRUE(is_ok(first) && is_ok(second));
      write(*memory, first.value(), bytes);
      EXPECT_TRUE(is_ok(memory->copy(second.value(), first.value()))) << "a larger destination will do";
      EXPECT_EQ(read(*memory, part_of(second.value(), 0, size)), bytes);
      memory->free(first.value());
      memory->free(second.value());
    }
  });
}

TEST_P(MemoryConformance, CopiesPartsOfABuffer) {
  check([&] {
    auto memory = make();
    auto buffer = memory->allocate(10, device());
    ASSERT_TRUE(is_ok(buffer));
    write(*memory, buffer.value(), "0123456789");
    write(*memory, part_of(buffer.value(), 3, 4), "abcd");
    EXPECT_EQ(read(*memory, buffer.value()), "012abcd789");
    EXPECT_EQ(read(*memory, part_of(buffer.value(), 6, 3)), "d78");
    memory->free(buffer.value());
  });
}

TEST_P(MemoryConformance, ADestinationThatIsTooSmallIsRefused) {
  check([&] {
    auto memory = make();
    auto buffer = memory->allocate(8, device());
    ASSERT_TRUE(is_ok(buffer));
    write(*memory, buffer.value(), "01234567");
    std::string small(7, '-');
    EXPECT_TRUE(is_failure(memory->copy(host_buffer(small), buffer.value()), Code::kInternal));
    EXPECT_EQ(small, "-------");
    memory->free(buffer.value());
  });
}

TEST_P(MemoryConformance, ACopyWaitsForItsSourceAndForNothingElse) {
  check([&] {
    auto memory = make();
    auto buffer = memory->allocate(4, device());
    ASSERT_TRUE(is_ok(buffer));
    write(*memory, buffer.value(), "old.");
    FakeDeviceEvent filled, never;
    Buffer source = buffer.value();
    source.ready_after = &filled;
    std::string bytes(4, '-');
    Buffer to = host_buffer(bytes);
    to.ready_after = &never;
    Status status = internal_error("not copied");
    std::thread copying([&] { status = memory->copy(to, source); });
    while (filled.waiting() == 0) std::this_thread::yield();
    write(*memory, buffer.value(), "new.");
    filled.reach();
    copying.join();
    EXPECT_TRUE(is_ok(status));
    EXPECT_EQ(bytes, "new.");
    FakeDeviceEvent lost;
    lost.reach(internal_error("the device is gone"));
    source.ready_after = &lost;
    EXPECT_TRUE(is_failure(memory->copy(to, source), Code::kInternal, "the device is gone"));
    memory->free(buffer.value());
  });
}

TEST_P(MemoryConformance, AnEventThatWasNotRecordedIsReached) {
  check([&] {
    auto memory = make();
    Result<DeviceEvent*> first = memory->make_event(device());
    if (!GetParam().has_events) {
      EXPECT_TRUE(is_failure(first, Code::kUnimplemented));
      return;
    }
    ASSERT_TRUE(is_ok(first));
    Result<DeviceEvent*> second = memory->make_event(device());
    ASSERT_TRUE(is_ok(second));
    EXPECT_NE(*first, *second);
    for (DeviceEvent* event : {*first, *second}) {
      EXPECT_TRUE(event->is_reached());
      EXPECT_TRUE(is_ok(event->wait()));
      EXPECT_NE(event->native_handle(), nullptr);
      memory->free_event(event);
    }
  });
}

TEST_P(MemoryConformance, HandlesReachTheMemoryOfTheirOwner) {
  check([&] {
    auto memory = make();
    if (!GetParam().share) {
      const std::vector<std::byte> handle(64);
      EXPECT_TRUE(is_failure(memory->open_handle(handle, device(), 1), Code::kUnimplemented));
      return;
    }
    const MemoryProvider::Shared shared = GetParam().share(100);
    auto first = memory->open_handle(shared.handle, device(), 100);
    auto second = memory->open_handle(shared.handle, device(), 10);
    ASSERT_TRUE(is_ok(first) && is_ok(second));
    EXPECT_EQ(first->kind, memory->kind());
    EXPECT_EQ(first->device_id, device());
    EXPECT_EQ(first->size_bytes, 100u);
    EXPECT_EQ(second->size_bytes, 10u);
    EXPECT_EQ(read(*memory, first.value()), std::string(100, '\0'));
    write(*memory, part_of(first.value(), 5, 3), "abc");
    EXPECT_EQ(read(*memory, part_of(second.value(), 4, 5)), std::string("\0abc\0", 5));
    memory->close_handle(first.value());
    EXPECT_EQ(read(*memory, part_of(second.value(), 5, 3)), "abc") << "each is closed for itself";
    memory->close_handle(second.value());
    auto again = memory->open_handle(shared.handle, device(), 100);
    ASSERT_TRUE(is_ok(again)) << "after it was closed";
    memory->close_handle(again.value());
  });
}

TEST_P(MemoryConformance, HandlesThatAreNoneAreRefused) {
  check([&] {
    auto memory = make();
    if (!GetParam().share) return;  // none is any
    const MemoryProvider::Shared shared = GetParam().share(100);
    EXPECT_TRUE(is_failure(memory->open_handle(shared.handle, device(), 101), Code::kOutOfRange));
    EXPECT_TRUE(is_failure(memory->open_handle(shared.handle, device(), UINT64_MAX), Code::kOutOfRange));
    EXPECT_TRUE(is_failure(memory->open_handle(shared.handle, -1, 1), Code::kInvalidArgument));
    EXPECT_TRUE(is_failure(memory->open_handle(shared.handle, 4096, 1), Code::kInvalidArgument));
    std::vector<std::byte> handle = shared.handle;
    handle.pop_back();
    EXPECT_TRUE(is_failure(memory->open_handle(handle, device(), 1), Code::kInvalidArgument));
    EXPECT_TRUE(is_failure(memory->open_handle({}, device(), 1), Code::kInvalidArgument));
    Random random(3);
    for (std::byte& byte : handle = shared.handle) byte = static_cast<std::byte>(random.below(256));
    EXPECT_TRUE(is_failure(memory->open_handle(handle, device(), 1), Code::kInvalidArgument));
    EXPECT_EQ(memory->used_bytes(), 0u);
  });
}

TEST_P(MemoryConformance, WhatGrowsStaysWhereItIs) {
  check([&] {
    auto memory = make();
    if (!GetParam().grows) {
      EXPECT_TRUE(is_failure(memory->allocate_growable(1, 1, device()), Code::kUnimplemented));
      return;
    }
    auto made = memory->allocate_growable(10, kMiB + 1, device());
    auto other = memory->allocate_growable(0, kMiB, device());
    ASSERT_TRUE(is_ok(made) && is_ok(other));
    Buffer buffer = made.value();
    void* const data = buffer.data;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    EXPECT_NE(data, other->data);
    EXPECT_EQ(buffer.kind, memory->kind());
    EXPECT_EQ(buffer.device_id, device());
    std::string bytes;
    for (uint64_t size : {uint64_t{10}, uint64_t{10}, uint64_t{5000}, kMiB / 2, kMiB + 1, uint64_t{7}}) {
      EXPECT_TRUE(is_ok(memory->grow(buffer, size))) << size;
      EXPECT_EQ(buffer.data, data);
      ASSERT_GE(buffer.size_bytes, size);
      EXPECT_EQ(read(*memory, part_of(buffer, 0, bytes.size())), bytes) << "before " << size;
      while (bytes.size() < size) bytes.push_back(static_cast<char>('a' + bytes.size() % 23));
      write(*memory, buffer, bytes);
    }
    EXPECT_GE(buffer.size_bytes, kMiB + 1) << "it does not shrink";
    EXPECT_GE(memory->used_bytes(), kMiB + 1);
    memory->free_growable(buffer);
    memory->free_growable(other.value());
    EXPECT_EQ(memory->used_bytes(), 0u);
  });
}

TEST_P(MemoryConformance, GrowingEndsWithWhatIsReserved) {
  check([&] {
    auto memory = make();
    if (!GetParam().grows) return;
    EXPECT_TRUE(is_failure(memory->allocate_growable(11, 10, device()), Code::kInvalidArgument));
    auto made = memory->allocate_growable(100, kMiB, device());
    ASSERT_TRUE(is_ok(made));
    Buffer buffer = made.value();
    for (uint64_t size : {2 * kMiB, uint64_t{1} << 62, UINT64_MAX - 100, UINT64_MAX}) {
      const uint64_t was = buffer.size_bytes;
      EXPECT_TRUE(is_failure(memory->grow(buffer, size), Code::kOutOfRange)) << size;
      EXPECT_EQ(buffer.size_bytes, was);
    }
    EXPECT_TRUE(is_ok(memory->grow(buffer, kMiB))) << "after what was refused";
    memory->free_growable(buffer);
  });
}

TEST_P(MemoryConformance, TheLimitIsForWhatIsUsedOfAGrowingBuffer) {
  check([&] {
    auto memory = make(8 * kMiB);
    if (!GetParam().grows) return;
    auto made = memory->allocate_growable(1000, 64 * kMiB, device());
    ASSERT_TRUE(is_ok(made)) << "addresses do not count";
    Buffer buffer = made.value();
    EXPECT_GE(memory->used_bytes(), 1000u);
    EXPECT_TRUE(is_failure(memory->grow(buffer, 8 * kMiB + 1), Code::kResourceExhausted));
    EXPECT_TRUE(
        is_failure(memory->allocate_growable(8 * kMiB, 8 * kMiB, device()), Code::kResourceExhausted));
    EXPECT_TRUE(is_ok(memory->grow(buffer, 8 * kMiB)));
    auto more = memory->allocate(1, device());
    EXPECT_TRUE(is_failure(more, Code::kResourceExhausted));
    if (more.ok()) memory->free(more.value());
    EXPECT_EQ(memory->used_bytes(), 8 * kMiB);
    memory->free_growable(buffer);
    EXPECT_EQ(memory->used_bytes(), 0u);
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
        std::vector<Buffer> held, growing;
        for (int i = 0; i < 300; ++i) {
          const bool grows = GetParam().grows && random.chance(30);
          auto buffer = grows ? memory->allocate_growable(random.below(kMiB / 8), kMiB, device())
                              : memory->allocate(random.below(kMiB / 4), device());
          if (buffer.ok() && grows) (void)memory->grow(buffer.value(), random.below(kMiB / 4)).ok();
          if (buffer.ok()) {
            (grows ? growing : held).push_back(buffer.value());
            ++granted;
          } else {
            ++refused;
          }
          if (memory->used_bytes() > kMiB) over = true;
          if (!buffer.ok() || i == 299) {
            for (const Buffer& old : held) memory->free(old);
            for (const Buffer& old : growing) memory->free_growable(old);
            held.clear();
            growing.clear();
          }
        }
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
