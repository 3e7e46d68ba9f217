#include "frontends/tfserving/request/call_target.h"

#include <utility>

#include "atoll/lib/http_request.h"

namespace atl::frontends::tfserving {
namespace {

constexpr std::pair<std::string_view, RestAction> kVerbs[] = {{":predict", RestAction::kPredict},
                                                              {":classify", RestAction::kClassify},
                                                              {":regress", RestAction::kRegress}};

/// Cuts "/<word>/<name>" off the end. \returns false: it is not there
bool take_last(std::string_view& rest, std::string_view word, std::string& name) {
  const size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || !rest.substr(0, slash).ends_with(word)) return false;
  name = percent_decode(rest.substr(slash + 1));
  rest = rest.substr(0, slash - word.size());
  return true;
}

}  // namespace

std::optional<CallTarget> read_target(std::string_view rest, bool is_post) {
  CallTarget target;
  if (is_post) {
    const auto* verb = std::begin(kVerbs);
    while (verb != std::end(kVerbs) && !rest.ends_with(verb->first)) ++verb;
    if (verb == std::end(kVerbs)) return std::nullopt;
    target.action = verb->second;
    rest.remove_suffix(verb->first.size());
  } else if (constexpr std::string_view kMetadata = "/metadata"; rest.ends_with(kMetadata)) {
    target.action = RestAction::kMetadata;
    rest.remove_suffix(kMetadata.size());
  }
  if (take_last(rest, "/versions", target.version)) {
    if (target.version.empty()) return std::nullopt;
  } else if (take_last(rest, "/labels", target.label) && target.label.empty()) {
    return std::nullopt;
  }
  target.model = percent_decode(rest);
  if (target.model.empty()) return std::nullopt;
  return target;
}

}  // namespace atl::frontends::tfserving
