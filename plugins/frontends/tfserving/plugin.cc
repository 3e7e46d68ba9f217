/// frontends/tfserving: TensorFlow Serving's REST API for every model, on the address of the HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "frontends/tfserving/serving_routes.h"

namespace atl::frontends::tfserving {
namespace {

constexpr OptionTable kOptions{
    option_string("prefix", "")
        .help(
            "Put in front of every path, as in \"/tfserving\" for /tfserving/v1/models/NAME:predict; empty: none. With it, "
            "GET /v1/models/NAME and /v1/models are this plugin's under the prefix, and frontends/openai's without it."),
    option_string("tenant_header", "")
        .help(
            "Header that names the tenant of a request, for quotas; empty: none. As the option of frontends/http."),
    option_int("max_elements", 16'777'216)
        .range(1, 1'073'741'824)
        .help("Most elements that the inputs of one request may have, all together."),
    option_bool("kserve_status", false)
        .help(
            "The status of a model has the fields 'name' and 'ready' of KServe's V1 protocol, too. TensorFlow Serving's own "
            "clients may refuse fields that they do not know."),
};

class TfServing final : public Plugin {
 public:
  explicit TfServing(Host& host) : host_(host) {}

  Status init() override {
    Result<TenantHeader> tenant = TenantHeader::parse(host_.options().get_string("tenant_header"));
    if (!tenant.ok()) return std::move(tenant).status();
    routes_.emplace(host_, ServingSettings{host_.options().get_string("prefix"), std::move(tenant).value(),
                                           static_cast<uint64_t>(host_.options().get_int("max_elements")),
                                           host_.options().get_bool("kserve_status")});
    return {};
  }
  Status start() override { return routes_->start(); }
  void stop() override { routes_->stop(); }
  ServingRoutes& routes() noexcept { return *routes_; }

 private:
  Host& host_;
  std::optional<ServingRoutes> routes_;
};

void check_options(OptionCheck& check) {
  check.passes("tenant_header", TenantHeader::parse(check.options().get_string("tenant_header")));
  if (const std::string wrong = wrong_prefix(check.options().get_string("prefix")); !wrong.empty())
    check.problem("prefix", wrong);
}

}  // namespace

// Below frontends/openai: bare /v1/models and /v1/models/NAME are that plugin's where both are.
ATOLL_PLUGIN(
    TfServing,
    {.name = "frontends/tfserving",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Answers TensorFlow Serving's REST API and KServe's V1 protocol on the HTTP frontend's address.",
     .provides = {provide<HttpRoutes, &TfServing::routes>().rank(-1)},
     .needs = {need<ModelCatalog>(), optional<ModelRouter>(), optional<Tracing>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::frontends::tfserving
