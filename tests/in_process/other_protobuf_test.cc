// A program whose own protobuf and gRPC everybody in the process finds first.
#include <dlfcn.h>

#include "program.h"

namespace atl::in_process {
namespace {

TEST(OtherProtobuf, TheServerUsesItsOwnAndLeavesTheProgramsAlone) {
  void* other = ::dlopen(ATOLL_OTHER_PROTOBUF, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(other, nullptr) << ::dlerror();
  const char* const name = "_ZN6google8protobuf11MessageLiteD2Ev";
  void* const programs = ::dlsym(RTLD_DEFAULT, name);
  ASSERT_EQ(programs, ::dlsym(other, name));
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  for (int round = 0; round < 2; ++round) {
    Server server;
    ASSERT_EQ(server.start(options.handle), "");
    EXPECT_EQ(server.infer("m", "hello"), "hello");
    TRITONSERVER_Message* config = nullptr;
    EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerModelConfig, server.handle, "m", -1, 1, &config)), "");
    EXPECT_EQ(text_of(CALL(TRITONSERVER_MessageDelete, config)), "");
  }
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, name), programs);
  EXPECT_EQ(*static_cast<int*>(::dlsym(other, "other_protobuf_calls")), 0);
}

}  // namespace
}  // namespace atl::in_process
