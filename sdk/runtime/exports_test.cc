#include "atoll/runtime/exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/runtime/shared_object.h"

namespace atl::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Exports, AreThoseOfTheObjectAroundTheAddress) {
  auto object = SharedObject::open(ATOLL_FIXTURE_ONE);
  ASSERT_TRUE(object.ok()) << object.status().text();
  const void* address = object->symbol("fixture_answer");
  EXPECT_THAT(exports_beside(address, "atoll_plugin_v1"), ElementsAre("fixture_answer"));
  EXPECT_THAT(exports_beside(address, "fixture_answer"), IsEmpty());
}

TEST(Exports, NoObjectHasNone) {
  int on_the_stack = 0;
  EXPECT_THAT(exports_beside(&on_the_stack, ""), IsEmpty());
}

TEST(Exports, ManyAreToldInOneLine) {
  EXPECT_EQ(exports_text({"a"}, "x"),
            "exports 1 symbol beside x (a); link with the version script, as atoll_add_plugin() does");
  EXPECT_EQ(exports_text({"a", "b", "c", "d", "e"}, "x"),
            "exports 5 symbols beside x (a, b, c and 2 more); link with the version script, as "
            "atoll_add_plugin() does");
}

}  // namespace
}  // namespace atl::runtime
