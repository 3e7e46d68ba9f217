/// frontends/vertex_ai: the calls that Google's Vertex AI makes to a container, on the address of an HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>

#include "atoll/core/text.h"
#include "frontends/common/routes/renamed_inference.h"
#include "frontends/common/routes/route_path.h"

namespace atl::frontends::vertex_ai {
namespace {

constexpr std::string_view kBinaryType = "application/vnd.vertex-ai-triton.binary+json;json-header-size=";
constexpr std::string_view kHint = ", or --vertex-ai-default-model of tritonserver";
constexpr std::string_view kRedirectHeader = "x-vertex-ai-triton-redirect";

constexpr OptionTable kOptions{
    option_string("health_route", "/health")
        .help("Path that is asked whether the server is ready: AIP_HEALTH_ROUTE."),
    option_string("predict_route", "/predict").help("Path of predictions: AIP_PREDICT_ROUTE."),
    option_string("default_model", "")
        .help(
            "Model of predictions whose header x-vertex-ai-triton-redirect names no other call. Empty: the only model of "
            "the repositories when the plugin starts; if there are several, such a prediction is answered with 400."),
};

/// Why a text cannot be the path of one of these routes; empty: it can.
std::string_view wrong_route(std::string_view path) noexcept {
  if (path.find('*') != std::string_view::npos) return "its path has a '*'";
  return wrong_route_path(path);
}

class VertexAi final : public Plugin, public HttpRoutes {
 public:
  explicit VertexAi(Host& host) : host_(host) {}
  ~VertexAi() override = default;

  Status init() override {
    health_ = host_.options().get_string("health_route");
    predict_ = host_.options().get_string("predict_route");
    inference_.emplace(kBinaryType, host_.options().get_string("default_model"), kHint);
    return {};
  }
  Status start() override { return inference_->open(host_); }

  std::vector<HttpRoute> routes() const noexcept override {
    return {{health_, kHttpGet, "health"}, {predict_, kHttpPost, "inference"}};
  }
  HttpRewrite rewrite(std::string_view, const HttpHead& head) const noexcept override {
    // One path may be both routes.
    if (head.method == "GET") return {.path = "/v2/health/ready"};
    const std::string_view redirect = header_value(head.headers, kRedirectHeader);
    if (redirect.empty()) return inference_->infer(head.headers);
    return inference_->call(cat(redirect.starts_with('/') ? "" : "/", redirect), head.headers);
  }
  void handle(std::string_view, HttpExchange& exchange) noexcept override {
    inference_->answer_without_model(exchange);
  }
  HttpRoutes& calls() noexcept { return *this; }

 private:
  Host& host_;
  std::string health_, predict_;
  std::optional<RenamedInference> inference_;
};

void check_options(OptionCheck& check) {
  for (const char* option : {"health_route", "predict_route"}) {
    const std::string path = check.options().get_string(option);
    if (const std::string_view wrong = wrong_route(path); !wrong.empty())
      check.problem(option, cat("found '", path, "', expected a path such as /predict: ", wrong));
  }
}

}  // namespace

ATOLL_PLUGIN(
    VertexAi,
    {.name = "frontends/vertex_ai",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Answers the health and predict routes of Google's Vertex AI on the HTTP frontend's address.",
     .provides = {provide<HttpRoutes, &VertexAi::calls>().minor(2)},
     .needs = {need<ModelCatalog>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::frontends::vertex_ai
