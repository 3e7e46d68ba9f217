#include "frontends/grpc/calls/error_text.h"

#include <gtest/gtest.h>

namespace atl::frontends::grpc_frontend {
namespace {

TEST(ErrorText, AStatusKeepsItsCode) {
  grpc::Status status = to_grpc(unavailable("busy"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "busy");
  EXPECT_LE(to_grpc(internal_error(std::string(50'000, 'x'))).error_message().size(), kMaxStatusTextBytes);
}

}  // namespace
}  // namespace atl::frontends::grpc_frontend
