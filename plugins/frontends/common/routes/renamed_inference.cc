#include "frontends/common/routes/renamed_inference.h"

#include <algorithm>
#include <set>
#include <utility>

#include "atoll/core/registry.h"
#include "atoll/core/text.h"
#include "atoll/lib/blanks.h"
#include "atoll/lib/http_request.h"
#include "atoll/models/model.h"
#include "frontends/common/http/header_name.h"

namespace atl::frontends {
namespace {

std::string infer_path_of(const std::string& model) {
  return model.empty() ? std::string() : cat("/v2/models/", percent_encode(model), "/infer");
}

}  // namespace

RenamedInference::RenamedInference(std::string_view binary_type, std::string default_model,
                                   std::string_view hint)
    : binary_type_(binary_type),
      hint_(hint),
      default_model_(std::move(default_model)),
      infer_path_(infer_path_of(default_model_)) {}

std::string_view header_value(std::span<const HttpHeader> headers, std::string_view name) noexcept {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const HttpHeader& header) { return is_named(header.name, name); });
  return found == headers.end() ? std::string_view() : found->value;
}

Status RenamedInference::open(Host& host) {
  Result<Service<ModelCatalog>> catalog = host.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  Result<std::vector<ModelIndexEntry>> index = (*catalog)->index(/*ready_only=*/false);
  std::set<std::string> names;
  if (index.ok()) {
    for (ModelIndexEntry& entry : *index) names.insert(std::move(entry.name));
  } else {
    host.log().warning(cat("it is not known which models there are: ", index.status().message()));
  }
  models_ = names.size();
  if (!default_model_.empty()) {
    if (index.ok() && !names.contains(default_model_))
      host.log().warning(cat("the default model '", default_model_,
                             "' is in no repository: requests for it are answered with 404"));
    return {};
  }
  if (models_ == 1) infer_path_ = infer_path_of(*names.begin());
  return {};
}

HttpRewrite RenamedInference::infer(std::span<const HttpHeader> headers) const {
  if (infer_path_.empty()) return {};
  return call(infer_path_, headers);
}

HttpRewrite RenamedInference::call(std::string path, std::span<const HttpHeader> headers) const {
  HttpRewrite rewrite{.path = std::move(path), .binary_type = binary_type_};
  const std::string_view type = header_value(headers, "content-type");
  // The type and its parameter, between which blanks may stand.
  const size_t at = std::min(type.find(';'), type.size());
  const size_t own = binary_type_.find(';');
  std::string_view parameter = type.substr(at);
  parameter.remove_prefix(std::min(parameter.find_first_not_of("; \t"), parameter.size()));
  const std::string_view wanted = std::string_view(binary_type_).substr(own + 1);
  if (without_blanks(type.substr(0, at)) == std::string_view(binary_type_).substr(0, own) &&
      parameter.starts_with(wanted))
    rewrite.json_length = parameter.substr(wanted.size());
  return rewrite;
}

void RenamedInference::answer_without_model(HttpExchange& exchange) const {
  exchange.answer(
      {.status = 400, .content_type = "application/json"},
      cat(R"({"error":"the request names no model, and there is no default: the repositories have )", models_,
          R"( models; set the option default_model)", hint_, R"("})"));
}

}  // namespace atl::frontends
