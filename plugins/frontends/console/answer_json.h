/// Answers of the console's calls.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/console/catalog_view.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

inline constexpr std::string_view kCategory = "console.read";
/// Of the calls that do something beyond reading.
inline constexpr std::string_view kActCategory = "console.act";
/// Of the page's files, which are the same for everybody: security/sessions opens it to all.
inline constexpr std::string_view kPageCategory = "console.page";

/// Whether a caller sees what is of this model. \param identity  null: nobody is asked who calls. [any]
inline bool may_see(const Identity* identity, std::string_view model) noexcept {
  return identity == nullptr || identity->may(ApiCategory::kOther, kCategory, model);
}
/// Whether a caller sees all models, and what is of the whole server. \param identity  as above [any]
inline bool may_see_all(const Identity* identity) noexcept {
  return identity == nullptr || identity->may_all(ApiCategory::kOther, kCategory);
}

/// Whether a caller may do something to this model. \param identity  as above [any]
inline bool may_act_on(const Identity* identity, std::string_view model) noexcept {
  return identity == nullptr || identity->may(ApiCategory::kOther, kActCategory, model);
}

/// Of the whole server, beside its models.
struct ServerFacts {
  std::string_view version;
  ProcessStart start;
  std::string control;   ///< ModelControl::mode(); empty: nothing loads models
  bool may_act = false;  ///< CallerCheck::may_act() of the call
};

/// Which entries of the list of models are asked for.
struct ModelsQuery {
  std::string search;  ///< part of a name, without regard to the case of ASCII letters; empty: all
  std::string state;   ///< as in CatalogLook::states; empty: all
  uint64_t offset = 0;
  uint64_t limit = 100;

  /// Reads "search=a%20b&state=READY&offset=100&limit=100", whose parts may all be missing.
  /// Errors: INVALID_ARGUMENT an unknown part, no number where one belongs, too large a limit.
  static Result<ModelsQuery> parse(std::string_view text);
};

/// Headers of every answer, and others: nothing but the page's own files runs, and nothing is loaded from elsewhere.
std::vector<HttpHeader> headers_with(std::initializer_list<HttpHeader> others);
void answer_json(HttpExchange& exchange, int status, std::string body);
void answer_failure(HttpExchange& exchange, const Status& status);

std::string overview_json(const CatalogLook& look, const ServerFacts& server);
/// \param identity  null: all models may be seen
std::string models_json(const CatalogLook& look, const ModelsQuery& query, const ServerFacts& server,
                        const Identity* identity);
std::string ensembles_json(const CatalogLook& look, const std::vector<ModelName>& ensembles,
                           const Identity* identity);
/// Who has made this call.
std::string caller_json(const ServerFacts& server, const Identity* identity);
std::string error_json(std::string_view text);

}  // namespace atl::frontends::console
