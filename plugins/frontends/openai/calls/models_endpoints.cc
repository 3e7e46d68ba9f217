// /v1/models with what is below it, and /health.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "atoll/lib/http_request.h"
#include "atoll/models/model_control.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/openai/answer/answers.h"
#include "frontends/openai/answer/json_append.h"
#include "frontends/openai/calls/endpoints.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kModelPrefix = "/v1/models/";

/// What stands behind the prefix, as the client sent it.
std::string_view id_of(const HttpExchange& exchange) noexcept {
  const std::string_view path = exchange.path();
  return path.size() < kModelPrefix.size() ? std::string_view() : path.substr(kModelPrefix.size());
}

/// A model by its name or alias. Nothing: there is none, it has no role, or the caller may not use it.
std::optional<ListedModel> listed(OpenAiContext& context, const CallOrigin& head, const std::string& name) {
  if (!head.may_use(context.model_of(name))) return std::nullopt;
  const Result<ModelRef> model = context.find(name);
  if (!model.ok() || !context.profiles.of(model.value().get()->info())->has_role()) return std::nullopt;
  return ListedModel{name, context.started_s};
}

/// An exchange that is answered when a model has been loaded or unloaded.
struct ControlCall {
  OpenAiContext& context;
  HttpExchange& exchange;
  Pass pass;
  std::string name;  ///< as the client has it
  bool loads;
  Service<ModelControl> control;

  void end(const Status& status) noexcept {
    if (!status.ok()) return answer_error(exchange, error_of(status));
    Result<std::string> json = guarded("writing the answer", [&]() -> Result<std::string> {
      if (loads) return model_json({name, context.started_s});
      std::string text = "{\"id\":";
      append_json_text(text, name);
      return text + ",\"object\":\"model\",\"deleted\":true}";
    });
    if (!json.ok()) return answer_error(exchange, error_of(json.status()));
    exchange.answer({.content_type = kJsonType}, std::move(json).value());
  }
};

}  // namespace

void answer_models(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass) {
  Result<std::vector<ModelIndexEntry>> index = context.catalog.index(/*ready_only=*/true);
  if (!index.ok()) return answer_error(exchange, error_of(index.status()));
  std::set<std::string> names;
  for (const ModelIndexEntry& entry : index.value()) names.insert(entry.name);
  for (const auto& [alias, model] : context.aliases) names.insert(alias);
  std::vector<ListedModel> models;
  for (const std::string& name : names) {
    if (auto model = listed(context, head, name)) models.push_back(std::move(*model));
  }
  exchange.answer({.content_type = kJsonType}, models_json(models));
}

void answer_model(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass) {
  const std::string name = percent_decode(id_of(exchange));
  const std::optional<ListedModel> model = listed(context, head, name);
  if (!model) return answer_error(exchange, unknown_model(name));
  exchange.answer({.content_type = kJsonType}, model_json(*model));
}

void answer_model_control(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, Pass pass) {
  std::string_view id = id_of(exchange);
  const bool loads = id.ends_with("/load");
  if (!loads && !id.ends_with("/unload"))
    return answer_error(exchange, {.status = 404, .message = "There is no such path."});
  id.remove_suffix(std::string_view(loads ? "/load" : "/unload").size());
  std::string name = percent_decode(id);
  Result<Service<ModelControl>> control = context.host.registry().find<ModelControl>();
  if (name.empty() || !control.ok())
    return answer_error(exchange, name.empty() ? wrong_field("model", "The path names no model.")
                                               : error_of(unavailable(messages::kLoadNotAllowed)));
  std::string model = context.model_of(name);
  if (!head.may_use(model))
    return answer_error(exchange,
                        error_of(make_status(Code::kPermissionDenied,
                                             "the caller may not load or unload the model '", name, "'")));
  const auto call = std::make_shared<ControlCall>(
      ControlCall{context, exchange, std::move(pass), std::move(name), loads, std::move(control).value()});
  ModelControl& used = *call->control;
  const auto done = [call](const Status& status) { call->end(status); };
  loads ? used.load(std::move(model), {}, done) : used.unload(std::move(model), {}, done);
}

void answer_health(OpenAiContext& context, HttpExchange& exchange, CallOrigin, Pass) {
  exchange.answer({.status = context.catalog.ready() ? 200 : 503}, {});
}

}  // namespace atl::frontends::openai
