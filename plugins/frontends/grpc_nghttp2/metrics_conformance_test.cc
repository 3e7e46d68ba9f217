#include <netinet/in.h>
#include <sys/socket.h>

#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/option_table.h"
#include "frontends/grpc_nghttp2/frontend.h"
#include "frontends/grpc_nghttp2/option_table.h"
#include "frontends/grpc_nghttp2/transport/testing/raw_client.h"

namespace atl::test {
namespace {

namespace own = frontends::grpc_nghttp2;

/// A frontend that is asked for its health over a connection that stays.
class AskedFrontend final : public MetricSourceUnderTest {
 public:
  AskedFrontend() {
    host_.options().set_string("address", "127.0.0.1:0");
    EXPECT_TRUE(is_ok(apply_option_table(own::kOptions, {}, host_.options())));
    host_.registry().publish<ModelCatalog>("models", catalog_);
    EXPECT_TRUE(is_ok(frontend_.init()));
    EXPECT_TRUE(is_ok(frontend_.start()));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(frontend_.bound_port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    client_.emplace(fd);
    client_->preface();
    use();  // the connection is there, and counted
  }
  MetricSource& source() override { return frontend_; }
  void use() override {
    client_->headers(stream_, own::RawClient::call("/grpc.health.v1.Health/Check"));
    client_->data(stream_, own::prefixed(""), true);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!client_->answers[stream_].ended && std::chrono::steady_clock::now() < end) client_->read();
    EXPECT_EQ(client_->answers[stream_].field("grpc-status"), "0");
    stream_ += 2;
  }

 private:
  FakeModelCatalog catalog_;
  FakeHost host_{"grpc", FakeHost::Threads::kReal};
  own::Nghttp2Frontend frontend_{host_};
  std::optional<own::RawClient> client_;
  int32_t stream_ = 1;
};

INSTANTIATE_TEST_SUITE_P(GrpcNghttp2, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "grpc_nghttp2", [] { return std::make_shared<AskedFrontend>(); }, {}}));

}  // namespace
}  // namespace atl::test
