/// frontends/sagemaker: the calls that Amazon SageMaker makes to a container, on the address of an HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>

#include "frontends/common/routes/renamed_inference.h"

namespace atl::frontends::sagemaker {
namespace {

constexpr std::string_view kBinaryType = "application/vnd.sagemaker-triton.binary+json;json-header-size=";
constexpr std::string_view kPing = "/ping";
constexpr std::string_view kInvocations = "/invocations";

constexpr OptionTable kOptions{
    option_string("default_model", "")
        .help(
            "Model that /invocations asks. Empty: the only model of the repositories when the plugin starts; if "
            "there are several, /invocations is answered with 400."),
};

class SageMaker final : public Plugin, public HttpRoutes {
 public:
  explicit SageMaker(Host& host) : host_(host) {}
  ~SageMaker() override = default;

  Status init() override {
    inference_.emplace(kBinaryType, host_.options().get_string("default_model"));
    return {};
  }
  Status start() override { return inference_->open(host_); }

  std::vector<HttpRoute> routes() const noexcept override {
    return {{std::string(kPing), kHttpGet, "health"}, {std::string(kInvocations), kHttpPost, "inference"}};
  }
  HttpRewrite rewrite(std::string_view route, const HttpHead& head) const noexcept override {
    if (route == kPing) return {.path = "/v2/health/ready"};
    return inference_->infer(head.headers);
  }
  void handle(std::string_view, HttpExchange& exchange) noexcept override {
    inference_->answer_without_model(exchange);
  }
  HttpRoutes& calls() noexcept { return *this; }

 private:
  Host& host_;
  std::optional<RenamedInference> inference_;
};

}  // namespace

ATOLL_PLUGIN(
    SageMaker,
    {.name = "frontends/sagemaker",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help =
         "Answers /ping and /invocations, as Amazon SageMaker calls containers, on the HTTP frontend's address.",
     .provides = {provide<HttpRoutes, &SageMaker::calls>().minor(2)},
     .needs = {need<ModelCatalog>()},
     .options = kOptions});

}  // namespace atl::frontends::sagemaker
