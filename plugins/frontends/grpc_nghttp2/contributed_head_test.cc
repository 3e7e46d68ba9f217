// Metadata of calls of other plugins: they are the provider's until it is done, whatever became of the client.
#include "atoll/testing/fake_request_memory.h"
#include "frontends/common/grpc/testing/contributed_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

TEST_F(ContributedCallTest, MetadataCountUntilTheProviderIsDone) {
  constexpr size_t kHeadBytes = 6000;
  test::FakeRequestMemory memory;
  host_.registry().publish<RequestMemory>("memory", memory);
  HeldCall call(*this);
  call.exchange->end({});
  GenericClient client(channel(), kMethod, {{"x-large", std::string(kHeadBytes, 'x')}});
  EXPECT_TRUE(eventually([&] { return memory.used_bytes() >= kHeadBytes; })) << "before there is a message";
  client.send("");
  GrpcExchange& exchange = call.held.wait();
  client.cancel();
  EXPECT_TRUE(eventually([&] { return exchange.cancellation().cancelled(); }));
  EXPECT_GE(memory.used_bytes(), kHeadBytes);
  exchange.end({});
  EXPECT_TRUE(eventually([&] { return calls() == 0 && memory.used_bytes() == 0; }));
  memory.set_limit(kHeadBytes / 2);
  GenericClient refused(channel(), kMethod, {{"x-large", std::string(kHeadBytes, 'x')}});
  EXPECT_EQ(refused.finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.trailer("retry-after"), "1");
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
