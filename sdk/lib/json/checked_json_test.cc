#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "atoll/lib/checked_document.h"

namespace {
thread_local bool refuse = false;
}

// What every allocation of this program calls.
void* operator new(size_t size) {
  void* memory = refuse ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace atl {
namespace {

/// \returns whether `work` threw std::bad_alloc while there was no memory
template <class Work>
bool is_refused(Work&& work) {
  refuse = true;
  try {
    work();
    refuse = false;
    return false;
  } catch (const std::bad_alloc&) {
    refuse = false;
    return true;
  }
}

TEST(CheckedJson, WritesAndReads) {
  CheckedBuffer buffer;
  CheckedWriter writer(buffer);
  writer.StartObject();
  writer.Key("key");
  writer.String("text");
  writer.EndObject();
  EXPECT_EQ(std::string_view(buffer.GetString(), buffer.GetSize()), R"({"key":"text"})");
  CheckedDocument document;
  document.Parse(buffer.GetString(), buffer.GetSize());
  const CheckedValue& value = document["key"];
  EXPECT_STREQ(value.GetString(), "text");
}

TEST(CheckedJson, ThrowsWhereThereIsNoMemory) {
  const std::string text = "[" + std::string(1000, '[') + std::string(1000, ']') + "]";
  CheckedDocument document;
  EXPECT_TRUE(is_refused([&] { document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size()); }));
  CheckedBuffer buffer;
  EXPECT_TRUE(is_refused([&] {
    CheckedWriter writer(buffer);
    writer.StartArray();
  }));
}

}  // namespace
}  // namespace atl
