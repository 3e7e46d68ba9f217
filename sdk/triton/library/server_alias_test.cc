#include "server_alias.h"

#include <gtest/gtest.h>

#include "atoll/runtime/shared_object.h"
#include "atoll/triton/foreign_library.h"

namespace atl::triton {
namespace {

const std::string kRenamed = std::string(ATOLL_FIXTURE_LIBRARIES) + "/libtriton_renamed.so";

TEST(ServerAlias, KnowsRenamedServers) {
  EXPECT_TRUE(is_renamed_server("libtritonserver-717102f0.so"));
  EXPECT_TRUE(is_renamed_server("libtritonserver-717102f0.so.1"));
  EXPECT_FALSE(is_renamed_server("libtritonserver.so"));
  EXPECT_FALSE(is_renamed_server("libtritonserver-717102f0"));
  EXPECT_FALSE(is_renamed_server("libtriton_python.so"));
}

// The name is known to the process from then on.
TEST(ServerAlias, ABackendOfARenamedServerFindsThisOne) {
  EXPECT_FALSE(runtime::SharedObject::open(kRenamed).ok());
  Result<ForeignLibrary> library = ForeignLibrary::open(kRenamed);
  ASSERT_TRUE(library.ok()) << library.status().text();
  Result<runtime::SharedObject> same = runtime::SharedObject::open(kRenamed);
  ASSERT_TRUE(same.ok()) << same.status().text();
  auto* size = reinterpret_cast<uint32_t (*)()>(same->symbol("fixture_size"));
  ASSERT_NE(size, nullptr);
  EXPECT_EQ(size(), 8u);
}

TEST(ServerAlias, EveryNameIsMadeOnce) {
  EXPECT_TRUE(provide_server_name("libtritonserver-one.so").ok());
  EXPECT_TRUE(provide_server_name("libtritonserver-one.so").ok());
  EXPECT_TRUE(provide_server_name("libtritonserver-two.so").ok());
  const std::string longest = "libtritonserver-" + std::string(236, 'y') + ".so";
  EXPECT_TRUE(provide_server_name(longest).ok());
  EXPECT_EQ(provide_server_name(longest + "y").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::triton
