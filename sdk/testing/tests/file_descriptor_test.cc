#include "atoll/core/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace atl {
namespace {

FileDescriptor open_null() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptor, IsClosedByItsLastOwner) {
  int fd = -1;
  {
    FileDescriptor first = open_null();
    fd = first.get();
    FileDescriptor second = std::move(first);
    EXPECT_FALSE(first.valid());
    EXPECT_TRUE(second.valid());
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, AnotherOneTakesItsPlace) {
  FileDescriptor owner = open_null();
  FileDescriptor other = open_null();
  const int former = owner.get(), kept = other.get();
  owner = std::move(other);
  EXPECT_FALSE(is_open(former));
  FileDescriptor& itself = owner;
  owner = std::move(itself);
  EXPECT_EQ(owner.get(), kept);
  EXPECT_TRUE(is_open(kept));
}

TEST(FileDescriptor, MayBeGivenAwayOrBeNone) {
  EXPECT_FALSE(FileDescriptor().valid());
  EXPECT_FALSE(FileDescriptor(::open("/nowhere/at/all", O_RDONLY)).valid());
  int fd = open_null().release();
  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

}  // namespace
}  // namespace atl
