/// Foreign code that was linked without the library. This test is not linked against it either.
#include <gtest/gtest.h>

#include "atoll/runtime/shared_object.h"

namespace {

using atl::runtime::SharedObject;

template <class Function>
Function* function(const SharedObject& object, const char* name) {
  return reinterpret_cast<Function*>(object.symbol(name));
}

TEST(Global, TheLibraryOfAPluginServesForeignCode) {
  auto host = SharedObject::open(ATOLL_FIXTURE_HOST);
  ASSERT_TRUE(host.ok()) << host.status().text();
  EXPECT_NE(
      SharedObject::open(ATOLL_FIXTURE_UNLINKED).status().text().find("undefined symbol: TRITONSERVER_"),
      std::string::npos);
  for (int i = 0; i < 2; ++i) {
    function<void()>(*host, "fixture_make_global")();
    auto foreign = SharedObject::open(ATOLL_FIXTURE_UNLINKED);
    ASSERT_TRUE(foreign.ok()) << foreign.status().text();
    EXPECT_EQ(function<uint32_t()>(*foreign, "fixture_size")(), 8u);
  }
}

}  // namespace
