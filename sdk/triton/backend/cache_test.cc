#include "atoll/triton/cache.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "atoll/triton/status.h"

namespace atl::triton {
namespace {

static_assert(std::is_same_v<decltype(&TRITONCACHE_CacheInitialize),
                             TRITONSERVER_Error* (*)(TRITONCACHE_Cache**, const char*)>);
static_assert(std::is_same_v<decltype(&TRITONCACHE_CacheInsert),
                             TRITONSERVER_Error* (*)(TRITONCACHE_Cache*, const char*, TRITONCACHE_CacheEntry*,
                                                     TRITONCACHE_Allocator*)>);
static_assert(std::is_same_v<decltype(&TRITONCACHE_CacheInsert), decltype(&TRITONCACHE_CacheLookup)>);
static_assert(std::is_same_v<decltype(&TRITONCACHE_CacheEntryGetBuffer),
                             TRITONSERVER_Error* (*)(TRITONCACHE_CacheEntry*, size_t, void**,
                                                     TRITONSERVER_BufferAttributes*)>);

void expect_refused(TRITONSERVER_Error* error, const char* part) {
  const Status status = take_error(error);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << part;
  EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
}

class CacheApi : public testing::Test {
 protected:
  CacheApi() { EXPECT_EQ(TRITONSERVER_BufferAttributesNew(&attributes_), nullptr); }
  ~CacheApi() override { EXPECT_EQ(TRITONSERVER_BufferAttributesDelete(attributes_), nullptr); }

  TRITONSERVER_BufferAttributes* attributes(size_t size_bytes,
                                            TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU) {
    EXPECT_EQ(TRITONSERVER_BufferAttributesSetByteSize(attributes_, size_bytes), nullptr);
    EXPECT_EQ(TRITONSERVER_BufferAttributesSetMemoryType(attributes_, type), nullptr);
    return attributes_;
  }
  size_t size() {
    size_t size = 0;
    EXPECT_EQ(TRITONSERVER_BufferAttributesByteSize(attributes_, &size), nullptr);
    return size;
  }
  static size_t count(TRITONCACHE_CacheEntry* entry) {
    size_t count = 99;
    EXPECT_EQ(TRITONCACHE_CacheEntryBufferCount(entry, &count), nullptr);
    return count;
  }

  TRITONSERVER_BufferAttributes* attributes_ = nullptr;
  char memory_[8] = {};
};

TEST_F(CacheApi, Version) {
  uint32_t major = 9, minor = 9;
  EXPECT_EQ(TRITONCACHE_ApiVersion(&major, &minor), nullptr);
  EXPECT_EQ(major, 0u);
  EXPECT_EQ(minor, 1u);
  expect_refused(TRITONCACHE_ApiVersion(&major, nullptr), "null");
}

TEST_F(CacheApi, AnInsertionIsCopiedIntoTheCachesMemory) {
  CacheCall call = CacheCall::insertion("12345");
  EXPECT_EQ(count(call.entry()), 1u);
  void* base = this;
  ASSERT_EQ(TRITONCACHE_CacheEntryGetBuffer(call.entry(), 0, &base, attributes(0)), nullptr);
  EXPECT_EQ(base, nullptr);
  EXPECT_EQ(size(), 5u);
  expect_refused(TRITONCACHE_Copy(call.allocator(), call.entry()), "has no memory");
  EXPECT_FALSE(call.copied());
  ASSERT_EQ(TRITONCACHE_CacheEntrySetBuffer(call.entry(), 0, memory_, nullptr), nullptr);
  ASSERT_EQ(TRITONCACHE_CacheEntryGetBuffer(call.entry(), 0, &base, attributes_), nullptr);
  EXPECT_EQ(base, memory_);
  EXPECT_EQ(size(), 5u);
  ASSERT_EQ(TRITONCACHE_Copy(call.allocator(), call.entry()), nullptr);
  EXPECT_TRUE(call.copied());
  EXPECT_STREQ(memory_, "12345");
  ASSERT_EQ(TRITONCACHE_CacheEntrySetBuffer(call.entry(), 0, memory_ + 1,
                                            attributes(7, TRITONSERVER_MEMORY_CPU_PINNED)),
            nullptr)
      << "larger memory, of the other kind";
  ASSERT_EQ(TRITONCACHE_Copy(call.allocator(), call.entry()), nullptr);
  EXPECT_STREQ(memory_, "112345");
}

TEST_F(CacheApi, ALookUpIsCopiedOutOfTheCachesMemory) {
  CacheCall call = CacheCall::look_up();
  EXPECT_EQ(count(call.entry()), 0u);
  char kept[] = "abcdef";
  ASSERT_EQ(TRITONCACHE_CacheEntryAddBuffer(call.entry(), kept, attributes(3)), nullptr);
  ASSERT_EQ(TRITONCACHE_CacheEntryAddBuffer(call.entry(), kept + 3, attributes(2)), nullptr);
  EXPECT_EQ(count(call.entry()), 2u);
  EXPECT_FALSE(call.copied());
  ASSERT_EQ(TRITONCACHE_Copy(call.allocator(), call.entry()), nullptr);
  kept[0] = 'x';
  EXPECT_TRUE(call.copied());
  call.end();
  EXPECT_EQ(call.take_buffers(), (std::vector<std::string>{"abc", "de"}));
}

TEST_F(CacheApi, WrongMemoryIsRefused) {
  CacheCall stored = CacheCall::insertion("12345");
  CacheCall found = CacheCall::look_up();
  expect_refused(TRITONCACHE_CacheEntryAddBuffer(found.entry(), memory_, attributes(0)), "no bytes");
  expect_refused(
      TRITONCACHE_CacheEntryAddBuffer(found.entry(), memory_, attributes(4, TRITONSERVER_MEMORY_GPU)), "GPU");
  expect_refused(TRITONCACHE_CacheEntryAddBuffer(stored.entry(), memory_, attributes(4)), "to be kept");
  expect_refused(TRITONCACHE_CacheEntrySetBuffer(stored.entry(), 0, memory_, attributes(4)), "needs 5 bytes");
  expect_refused(TRITONCACHE_CacheEntrySetBuffer(stored.entry(), 0, memory_, attributes(0)), "no bytes");
  expect_refused(
      TRITONCACHE_CacheEntrySetBuffer(stored.entry(), 0, memory_, attributes(8, TRITONSERVER_MEMORY_GPU)),
      "GPU");
  EXPECT_EQ(count(found.entry()), 0u);
}

TEST_F(CacheApi, WrongPlacesAreRefused) {
  CacheCall call = CacheCall::insertion("12345");
  CacheCall other = CacheCall::look_up();
  void* base = nullptr;
  expect_refused(TRITONCACHE_CacheEntryGetBuffer(call.entry(), 1, &base, attributes_),
                 "buffer 1 does not exist");
  expect_refused(TRITONCACHE_CacheEntrySetBuffer(call.entry(), 1, memory_, nullptr), "the entry has 1");
  expect_refused(TRITONCACHE_Copy(other.allocator(), call.entry()), "not of this call");
  expect_refused(TRITONCACHE_CacheEntryDelete(call.entry()), "the server's");
}

TEST_F(CacheApi, NullIsRefused) {
  CacheCall call = CacheCall::look_up();
  size_t count = 0;
  void* base = nullptr;
  expect_refused(TRITONCACHE_CacheEntryBufferCount(nullptr, &count), "null");
  expect_refused(TRITONCACHE_CacheEntryBufferCount(call.entry(), nullptr), "null");
  expect_refused(TRITONCACHE_CacheEntryAddBuffer(call.entry(), nullptr, attributes(1)), "null");
  expect_refused(TRITONCACHE_CacheEntryAddBuffer(call.entry(), memory_, nullptr), "null");
  expect_refused(TRITONCACHE_CacheEntryGetBuffer(call.entry(), 0, &base, nullptr), "null");
  expect_refused(TRITONCACHE_CacheEntryGetBuffer(call.entry(), 0, nullptr, attributes_), "null");
  expect_refused(TRITONCACHE_CacheEntrySetBuffer(call.entry(), 0, nullptr, nullptr), "null");
  expect_refused(TRITONCACHE_Copy(nullptr, call.entry()), "null");
  expect_refused(TRITONCACHE_Copy(call.allocator(), nullptr), "null");
  expect_refused(TRITONCACHE_CacheEntryNew(nullptr), "null");
  expect_refused(TRITONCACHE_CacheEntryDelete(nullptr), "null");
}

TEST_F(CacheApi, HandlesEndWithTheirCall) {
  TRITONCACHE_CacheEntry* entry = nullptr;
  TRITONCACHE_Allocator* allocator = nullptr;
  {
    CacheCall call = CacheCall::insertion("12345");
    entry = call.entry();
    allocator = call.allocator();
  }
  size_t count = 0;
  void* base = nullptr;
  CacheCall next = CacheCall::insertion("67");
  expect_refused(TRITONCACHE_CacheEntryBufferCount(entry, &count), "no longer");
  expect_refused(TRITONCACHE_CacheEntryAddBuffer(entry, memory_, attributes(1)), "no longer");
  expect_refused(TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes_), "no longer");
  expect_refused(TRITONCACHE_CacheEntrySetBuffer(entry, 0, memory_, nullptr), "no longer");
  expect_refused(TRITONCACHE_Copy(allocator, entry), "no longer");
  expect_refused(TRITONCACHE_Copy(next.allocator(), entry), "not of this call");
  expect_refused(TRITONCACHE_CacheEntryDelete(entry), "no longer");
}

TEST_F(CacheApi, AProgramsOwnEntry) {
  TRITONCACHE_CacheEntry* entry = nullptr;
  ASSERT_EQ(TRITONCACHE_CacheEntryNew(&entry), nullptr);
  EXPECT_EQ(count(entry), 0u);
  ASSERT_EQ(TRITONCACHE_CacheEntryAddBuffer(entry, memory_, attributes(8)), nullptr);
  void* base = nullptr;
  ASSERT_EQ(TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes(0)), nullptr);
  EXPECT_EQ(base, memory_);
  EXPECT_EQ(size(), 8u);
  CacheCall call = CacheCall::look_up();
  expect_refused(TRITONCACHE_Copy(call.allocator(), entry), "not of this call");
  EXPECT_EQ(TRITONCACHE_CacheEntryDelete(entry), nullptr);
  expect_refused(TRITONCACHE_CacheEntryDelete(entry), "no longer");
}

TEST_F(CacheApi, CallsDoNotSeeEachOther) {
  for (int i = 0; i < 3000; ++i) {
    CacheCall call = i % 2 == 0 ? CacheCall::look_up() : CacheCall::insertion("12");
    EXPECT_EQ(count(call.entry()), static_cast<size_t>(i % 2));
    if (i % 2 == 0) {
      EXPECT_EQ(TRITONCACHE_CacheEntryAddBuffer(call.entry(), memory_, attributes(8)), nullptr);
    }
  }
}

}  // namespace
}  // namespace atl::triton
