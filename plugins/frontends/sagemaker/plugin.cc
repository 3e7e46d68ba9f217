/// frontends/sagemaker: the calls that Amazon SageMaker makes to a container, on the address of an HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/lib/http_request.h"
#include "atoll/models/model_control.h"
#include "atoll/models/repository_paths.h"
#include "frontends/common/routes/renamed_inference.h"
#include "frontends/sagemaker/hosted_models.h"

namespace atl::frontends::sagemaker {
namespace {

constexpr std::string_view kBinaryType = "application/vnd.sagemaker-triton.binary+json;json-header-size=";
constexpr std::string_view kHint = ", or SAGEMAKER_TRITON_DEFAULT_MODEL_NAME of tritonserver's environment";
constexpr std::string_view kPing = "/ping";
constexpr std::string_view kInvocations = "/invocations";
constexpr std::string_view kModels = "/models";
constexpr std::string_view kModel = "/models/*";
constexpr std::string_view kInvoke = "/models/*/invoke";

constexpr OptionTable kOptions{
    option_string("default_model", "")
        .help(
            "Model that /invocations asks. Empty: the only model of the repositories when the plugin starts; if "
            "there are several, /invocations is answered with 400."),
    option_bool("multi_model", false)
        .help(
            "Whether the calls of multi-model endpoints are answered, by which SageMaker loads, lists, asks and unloads models: "
            "/models and what is below it. Needs control/explicit and repositories/filesystem."),
    option_string("models_directory", "/opt/ml/models")
        .help("Folder below which the models lie that a multi-model endpoint loads; others are refused."),
};

/// The model's name in the path of a call.
std::string name_in(std::string_view path, std::string_view behind) {
  path.remove_prefix(kModels.size() + 1);
  path.remove_suffix(behind.size());
  return percent_decode(path);
}

class SageMaker final : public Plugin, public HttpRoutes {
 public:
  explicit SageMaker(Host& host) : host_(host) {}
  ~SageMaker() override = default;

  Status init() override {
    inference_.emplace(kBinaryType, host_.options().get_string("default_model"), kHint);
    if (host_.options().get_bool("multi_model"))
      models_.emplace(host_, host_.options().get_string("models_directory"));
    return {};
  }
  Status start() override {
    if (models_) ATOLL_RETURN_IF_ERROR(models_->open());
    return inference_->open(host_);
  }
  void stop() override {
    if (models_) models_->close();
  }

  std::vector<HttpRoute> routes() const noexcept override {
    std::vector<HttpRoute> routes = {{std::string(kPing), kHttpGet, "health"},
                                     {std::string(kInvocations), kHttpPost, "inference"}};
    if (!models_) return routes;
    routes.push_back({std::string(kModels), kHttpGet | kHttpPost, "model-repository"});
    routes.push_back({std::string(kModel), kHttpGet | kHttpDelete, "model-repository"});
    routes.push_back({std::string(kInvoke), kHttpPost, "inference"});
    return routes;
  }
  HttpRewrite rewrite(std::string_view route, const HttpHead& head) const noexcept override {
    // A container with several models goes on when one of them cannot be loaded.
    if (route == kPing) return {.path = models_ ? "/v2/health/live" : "/v2/health/ready"};
    if (route == kInvocations) return inference_->infer(head.headers);
    if (route != kInvoke) return {};
    const std::string model = models_->model_of(name_in(head.path, "/invoke"));
    if (model.empty()) return {};
    return inference_->call(cat("/v2/models/", percent_encode(model), "/infer"), head.headers);
  }
  void handle(std::string_view route, HttpExchange& exchange) noexcept override {
    if (!models_ || route == kInvocations) return inference_->answer_without_model(exchange);
    // Where memory is short the exchange has been answered by its end.
    (void)guarded("a call of SageMaker's", [&]() -> Status {
      handle_models(route, exchange);
      return {};
    });
  }
  HttpRoutes& calls() noexcept { return *this; }

 private:
  void handle_models(std::string_view route, HttpExchange& exchange) {
    const std::string_view method = exchange.method();
    if (route == kModels) return method == "GET" ? models_->list(exchange) : models_->load(exchange);
    if (route == kInvoke) return models_->refuse_unknown(name_in(exchange.path(), "/invoke"), exchange);
    const std::string name = name_in(exchange.path(), "");
    return method == "GET" ? models_->get(name, exchange) : models_->unload(name, exchange);
  }

  Host& host_;
  std::optional<RenamedInference> inference_;
  std::optional<HostedModels> models_;  ///< none: the endpoint has one model
};

}  // namespace

ATOLL_PLUGIN(
    SageMaker,
    {.name = "frontends/sagemaker",
     .version = "1.1.0",
     .license = "Apache-2.0",
     .help =
         "Answers /ping, /invocations and /models, as Amazon SageMaker calls containers, on the HTTP frontend's address.",
     .provides = {provide<HttpRoutes, &SageMaker::calls>().minor(2)},
     .needs = {need<ModelCatalog>(), optional<ModelControl>(), optional<RepositoryPaths>()},
     .options = kOptions});

}  // namespace atl::frontends::sagemaker
