/// frontends/openai: OpenAI's API for every model, on the address of the HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "atoll/models/model_control.h"
#include "frontends/openai/openai_routes.h"

namespace atl::frontends::openai {
namespace {

constexpr OptionTable kOptions{
    option_string_map("aliases").help(
        "Further names for models, \"<name>\" = \"<model>\": clients that ask for a name that is fixed in them reach "
        "a model of this server."),
    option_string("tenant_header", "")
        .help(
            "Header that names the tenant of a request, for quotas; empty: none. As the option of frontends/http."),
    option_string("tool_call_parser", "hermes")
        .choices("hermes|llama3|mistral")
        .help(
            "How models write calls of tools in their texts, unless the parameter 'tool_call_parser' of a model's "
            "configuration says otherwise."),
    option_duration("ping_interval", "15s")
        .help(
            "A stream that has said nothing for so long, such as one whose prompt is being computed, says that it "
            "lives; 0s: never."),
    option_bool("vllm_metrics", false)
        .help(
            "Counts of generated texts under the names of vLLM, too (vllm:time_to_first_token_seconds and so on), as "
            "dashboards and gateways read them."),
};

class OpenAi final : public Plugin {
 public:
  explicit OpenAi(Host& host) : host_(host) {}

  Status init() override {
    Result<TenantHeader> tenant = TenantHeader::parse(host_.options().get_string("tenant_header"));
    if (!tenant.ok()) return std::move(tenant).status();
    routes_.emplace(host_, OpenAiSettings{host_.options().get_map("aliases"), std::move(tenant).value(),
                                          *tool_syntax_of(host_.options().get_string("tool_call_parser")),
                                          host_.options().get_bool("vllm_metrics"),
                                          host_.options().get_duration_ns("ping_interval")});
    return {};
  }
  Status start() override { return routes_->start(); }
  void stop() override { routes_->stop(); }
  OpenAiRoutes& routes() noexcept { return *routes_; }

 private:
  Host& host_;
  std::optional<OpenAiRoutes> routes_;
};

void check_options(OptionCheck& check) {
  check.passes("tenant_header", TenantHeader::parse(check.options().get_string("tenant_header")));
}

}  // namespace

ATOLL_PLUGIN(
    OpenAi,
    {.name = "frontends/openai",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Answers OpenAI's API on the HTTP frontend's address, for models of any backend.",
     .provides = {provide<HttpRoutes, &OpenAi::routes>().minor(1), provide<MetricSource, &OpenAi::routes>()},
     .needs = {need<ModelCatalog>(), optional<ModelControl>(), optional<ModelRouter>(), optional<Tracing>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::frontends::openai
