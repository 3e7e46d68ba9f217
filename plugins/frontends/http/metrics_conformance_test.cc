#include "atoll/testing/conformance/metric_source.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::test {
namespace {

namespace http = frontends::http;

/// A frontend that is asked for its health over a connection that stays.
class AskedFrontend final : public MetricSourceUnderTest {
 public:
  AskedFrontend() {
    http::set_default_options(host_.options());
    host_.registry().publish<ModelCatalog>("models", catalog_);
    EXPECT_TRUE(is_ok(frontend_.init()));
    EXPECT_TRUE(is_ok(frontend_.start()));
    client_.emplace(frontend_.bound_port());
    use();  // the connection is there, and counted
  }
  MetricSource& source() override { return frontend_; }
  void use() override {
    const double before = requests();
    EXPECT_EQ(client_->ask("GET /v2/health/live HTTP/1.1\r\nHost: test\r\n\r\n").status, 200);
    EXPECT_TRUE(frontends::eventually([&] { return requests() > before; })) << "counted after it is answered";
  }

 private:
  double requests() const {
    double sum = 0;
    for (const auto& [name, value] : RecordedMetrics(frontend_).values()) {
      if (name.starts_with("atoll_http_requests_total")) sum += value;
    }
    return sum;
  }
  FakeModelCatalog catalog_;
  FakeHost host_{"http", FakeHost::Threads::kReal};
  http::HttpFrontend frontend_{host_};
  std::optional<http::HttpClient> client_;
};

INSTANTIATE_TEST_SUITE_P(Http, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "http", [] { return std::make_shared<AskedFrontend>(); }, {}}));

}  // namespace
}  // namespace atl::test
