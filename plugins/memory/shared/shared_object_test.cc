#include "memory/shared/shared_object.h"

#include <gtest/gtest.h>

#include "atoll/testing/shared_memory_object.h"

namespace atl::memory {
namespace {

using test::page;
using test::TestObject;

std::string key_refusal(std::string_view key) {
  std::string name;
  Status status = PosixObject::check_key("r", key, &name);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << key;
  EXPECT_EQ(name, "");
  return std::string(status.message());
}

TEST(PosixObject, SlashesAtTheFrontOfAKeyDoNotCount) {
  for (const char* key : {"x", "/x", "///x"}) {
    std::string name;
    EXPECT_TRUE(PosixObject::check_key("r", key, &name).ok());
    EXPECT_EQ(name, "/x");
  }
}

TEST(PosixObject, RefusesKeysThatNameNoObject) {
  std::string name;
  EXPECT_EQ(PosixObject::check_key("r", "", &name).code(), Code::kInternal);
  EXPECT_EQ(key_refusal("///"), "cannot register shared memory region 'r' - invalid shm key '///'");
  const std::string expected = ": expected the name of an object, without '/' inside";
  for (const char* key : {"/etc/passwd", "a/b", "a/", "..", "/..", ".", "../shm/x"}) {
    EXPECT_EQ(key_refusal(key),
              cat("cannot register shared memory region 'r' - invalid shm key '", key, "'", expected));
  }
  EXPECT_NE(key_refusal(std::string("a\0b", 3)).find(expected), std::string::npos);
}

TEST(PosixObject, LimitsTheLengthOfAKey) {
  std::string name;
  EXPECT_TRUE(PosixObject::check_key("r", "/" + std::string(255, 'k'), &name).ok());
  EXPECT_EQ(key_refusal(std::string(256, 'k')),
            cat("cannot register shared memory region 'r' - invalid shm key '", std::string(255, 'k'),
                "...': 256 bytes, expected at most 255"));
}

TEST(PosixObject, RefusesKeysOfObjectsThatServersMake) {
  for (const char* prefix : {"triton_python_backend_shm_region_", "atoll_backend_shm_region_"}) {
    for (const char* front : {"", "/", "//"}) {
      const std::string key = cat(front, prefix, "1");
      EXPECT_EQ(key_refusal(key), cat("cannot register shared memory region 'r' with key '", key,
                                      "' as the key contains the reserved prefix '", prefix, "'"));
    }
  }
}

TEST(PosixObject, OpensOnlyObjects) {
  auto expect_closed = [](const std::string& key) {
    Result<PosixObject> object = PosixObject::open(key, key);
    EXPECT_EQ(object.status().code(), Code::kInternal);
    EXPECT_EQ(object.status().message(), "Unable to open shared memory region: '" + key + "'");
  };
  expect_closed("/atoll-test-no-such-object");
  const std::string link = cat("/atoll-test-link-", getpid());
  ASSERT_EQ(symlink("/etc/hostname", ("/dev/shm" + link).c_str()), 0);
  expect_closed(link);
  unlink(("/dev/shm" + link).c_str());
  ASSERT_EQ(mkfifo(("/dev/shm" + link).c_str(), 0600), 0);
  expect_closed(link);
  unlink(("/dev/shm" + link).c_str());
  ASSERT_EQ(mkdir(("/dev/shm" + link).c_str(), 0700), 0);
  expect_closed(link);
  rmdir(("/dev/shm" + link).c_str());
}

TEST(PosixObject, KnowsItsSizeAndOwner) {
  TestObject made(100);
  Result<PosixObject> object = PosixObject::open(made.key(), made.key());
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->size_bytes(), 100u);
  EXPECT_EQ(object->owner(), geteuid());
}

TEST(PosixObject, MapsAnyOffset) {
  TestObject made(3 * page());
  for (uint64_t i = 0; i < 3 * page(); ++i) made.data()[i] = static_cast<std::byte>(i % 251);
  Result<PosixObject> object = PosixObject::open(made.key(), made.key());
  ASSERT_TRUE(object.ok());
  for (uint64_t offset : {uint64_t{0}, uint64_t{1}, page() - 1, page(), page() + 1, 3 * page() - 1}) {
    Result<Mapping> mapping = object->map("r", offset, 1);
    ASSERT_TRUE(mapping.ok()) << mapping.status().text();
    EXPECT_EQ(*mapping->data(), static_cast<std::byte>(offset % 251)) << offset;
    EXPECT_EQ(made.mappings(), 1);
  }
  EXPECT_EQ(made.mappings(), 0);
}

TEST(PosixObject, CountsWholePages) {
  EXPECT_EQ(Mapping::mapped_bytes(0, 1), page());
  EXPECT_EQ(Mapping::mapped_bytes(0, page()), page());
  EXPECT_EQ(Mapping::mapped_bytes(0, page() + 1), 2 * page());
  EXPECT_EQ(Mapping::mapped_bytes(page() - 1, 2), 2 * page());
  EXPECT_EQ(Mapping::mapped_bytes(5 * page() + 3, page() - 3), page());
}

TEST(PosixObject, SaysWhyTheSystemDoesNotMap) {
  TestObject made(page());
  made.resize(uint64_t{1} << 62);
  Result<PosixObject> object = PosixObject::open(made.key(), made.key());
  ASSERT_TRUE(object.ok());
  Result<Mapping> mapping = object->map("r", 0, uint64_t{1} << 62);
  EXPECT_EQ(mapping.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(mapping.status().message(),
            "failed to register shared memory region 'r': unable to process address spaceCannot allocate "
            "memory");
}

TEST(PosixObject, CutsNamesForMessagesBetweenCharacters) {
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown(std::string(255, 'x')), std::string(255, 'x'));
  EXPECT_EQ(shown(std::string(254, 'x') + "\xC3\xA4"), std::string(254, 'x') + "...");
}

}  // namespace
}  // namespace atl::memory
