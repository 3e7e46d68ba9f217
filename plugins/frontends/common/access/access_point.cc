#include "frontends/common/access/access_point.h"

#include <algorithm>
#include <utility>

namespace atl::frontends {
namespace {

bool has_role(const Service<Access>& provider, AccessRole role) noexcept {
  const uint32_t roles = provider.minor() >= 1 ? provider->roles() : static_cast<uint32_t>(kJudgesCalls);
  return (roles & role) != 0;
}

/// Calls that are about the server as a whole, whatever models there are.
bool is_about_all(ApiCategory category) noexcept {
  return category == ApiCategory::kSharedMemory || category == ApiCategory::kLogging ||
         category == ApiCategory::kMetrics;
}

}  // namespace

AccessPoint::AccessPoint(Host& host)
    : host_(host),
      judge_(
          host, [this] { return find(); }, [this] { judge_changed(); }),
      audit_(host, {}, [this] { audit_changed(); }) {}

Status AccessPoint::open() noexcept {
  ATOLL_RETURN_IF_ERROR(audit_.open());
  return judge_.open();
}

void AccessPoint::close() noexcept {
  judge_.close();
  chain_.close();
  audit_.close();
}

// --- the providers ---

const Access* AccessPoint::bound(const std::vector<ServiceInfo>& providers) noexcept {
  const Result<Service<Access>> found = host_.registry().find<Access>();
  if (!found.ok()) return nullptr;
  // Nobody says that it is bound; but by rank another one, or none, would have been found.
  const auto best =
      std::max_element(providers.begin(), providers.end(),
                       [](const auto& left, const auto& right) { return left.rank < right.rank; });
  if (best == providers.end()) return nullptr;
  const auto best_ones = std::count_if(providers.begin(), providers.end(),
                                       [&](const auto& one) { return one.rank == best->rank; });
  if (best_ones > 1) return found.value().get();
  const Result<Service<Access>> by_rank = host_.registry().find<Access>(best->instance);
  return by_rank.ok() && by_rank.value().get() == found.value().get() ? nullptr : found.value().get();
}

Result<Service<Access>> AccessPoint::find() noexcept {
  renew_chain();
  Result<Service<Access>> found = host_.registry().find<Access>();
  const std::vector<ServiceInfo> providers = host_.registry().list(Access::kInterfaceId);
  const bool is_source_alone = found.ok() && !has_role(found.value(), kJudgesCalls);
  const bool is_tied = !found.ok() && found.status().code() == Code::kFailedPrecondition;
  if (is_source_alone && bound(providers) != nullptr) {
    found = not_found("the provider of ", Access::kInterfaceId, " only says who calls");
  } else if (is_source_alone || is_tied) {
    // Among those that judge calls the one of the highest rank.
    Result<Service<Access>> best = not_found("nobody judges calls");
    int32_t best_rank = 0;
    for (const ServiceInfo& info : providers) {
      Result<Service<Access>> one = host_.registry().find<Access>(info.instance);
      if (!one.ok() || !has_role(one.value(), kJudgesCalls)) continue;
      const bool is_first = !best.ok() && best.status().code() == Code::kNotFound;
      if (!is_first && info.rank < best_rank) continue;
      if (is_first || info.rank > best_rank) {
        best = std::move(one);
      } else {
        best = make_status(Code::kFailedPrecondition, Access::kInterfaceId, ": '", info.instance,
                           "' and another instance provide it with the same rank ", info.rank, "; name one");
      }
      best_rank = info.rank;
    }
    if (best.ok() || !is_tied || best.status().code() == Code::kNotFound) found = std::move(best);
  }
  if (!found.ok()) {
    const bool is_lost = found.status().code() != Code::kNotFound;
    is_lost ? others_.fetch_or(kLost) : others_.fetch_and(~static_cast<uint32_t>(kLost));
  }
  return found;
}

void AccessPoint::judge_changed() noexcept {
  if (judge_.is_present()) others_.fetch_and(~static_cast<uint32_t>(kLost));
}

void AccessPoint::audit_changed() noexcept {
  audit_.is_present() ? others_.fetch_or(kAudited) : others_.fetch_and(~static_cast<uint32_t>(kAudited));
}

IdentityChain AccessPoint::find_sources() noexcept {
  std::vector<ServiceInfo> providers = host_.registry().list(Access::kInterfaceId);
  const Access* const only = bound(providers);
  std::stable_sort(providers.begin(), providers.end(),
                   [](const ServiceInfo& left, const ServiceInfo& right) { return left.rank > right.rank; });
  IdentityChain chain;
  for (const ServiceInfo& info : providers) {
    Result<Service<Access>> provider = host_.registry().find<Access>(info.instance);
    if (!provider.ok() || !has_role(provider.value(), kKnowsCallers)) continue;
    if (only != nullptr && provider.value().get() != only) continue;
    chain.sources.push_back(std::move(provider).value());
    chain.instances.push_back(std::string(info.instance));
  }
  return chain;
}

void AccessPoint::renew_chain() noexcept {
  IdentityChain chain = find_sources();
  const std::vector<Service<Access>>& sources = chain.sources;
  const IdentityChain* const before = chain_.value();
  const auto is_same = [](const Service<Access>& left, const Service<Access>& right) {
    return left.get() == right.get();
  };
  if (before == nullptr ? sources.empty() : std::ranges::equal(before->sources, sources, is_same)) return;
  if (sources.empty()) {
    others_.fetch_and(~static_cast<uint32_t>(kSources));
    chain_.replace(std::nullopt);
  } else {
    chain_.replace(std::move(chain));
    others_.fetch_or(kSources);
  }
}

// --- a call ---

std::shared_ptr<CallReport> AccessPoint::begin_report(const AccessQuestion& question,
                                                      const CallName& name) const noexcept {
  const uint32_t others = others_.load(std::memory_order_acquire);
  if ((others & kAudited) == 0) return nullptr;
  const auto audit = audit_.hold();
  if (!audit) return nullptr;
  const bool is_wanted = audit->wants(question.category, question.category_name);
  // Where nobody can be denied anything there is nothing to be told of others.
  if (!is_wanted && others == kAudited && !judge_.is_present()) return nullptr;
  return std::make_shared<CallReport>(audit_, host_.clock(), question, name, is_wanted);
}

Status AccessPoint::identify(const AccessQuestion& question, CallerIdentityPtr* identity,
                             std::shared_ptr<CallReport> report, const CallerPlace* place,
                             std::shared_ptr<UsedModels> used) const noexcept {
  if (*identity != nullptr && report == nullptr) report = (*identity)->report();
  identity->reset();
  auto chain = chain_.hold();
  if (!chain) return {};
  // A record names the source, which is not kept.
  if (report != nullptr) place = nullptr;
  const int64_t now = place == nullptr ? 0 : host_.clock().now_ns();
  const std::shared_ptr<const Identity>* const kept =
      place == nullptr ? nullptr : place->callers.find(place->connection, question, now);
  std::shared_ptr<const Identity> found;
  if (kept != nullptr) {
    found = *kept;
  } else {
    const WatchedHead head(question.head);
    Result<Found> looked_up = look_up(*chain, {question.category, question.category_name, question.protocol,
                                               place == nullptr ? question.head : head, question.is_probe});
    if (!looked_up.ok()) return std::move(looked_up).status();
    if (looked_up->identity == nullptr) return {};
    found = std::move(looked_up->identity);
    if (report != nullptr)
      report->set_caller(found->name(), found->tenant(), chain->instances[looked_up->source]);
    if (place != nullptr && !head.saw_more())
      place->callers.keep(place->connection, question, found, chain_.hold(), kept_, now);
  }
  const bool may = is_about_all(question.category)
                       ? found->may_all(question.category, question.category_name)
                       : found->may(question.category, question.category_name, {});
  *identity = std::make_shared<CallerIdentity>(std::move(chain), std::move(found), std::move(report),
                                               std::move(used));
  if (may) return {};
  return make_status(Code::kPermissionDenied, "the caller may make no calls of the category '",
                     question.category_name, "'");
}

Status AccessPoint::renew(const AccessQuestion& question, CallerIdentityPtr* identity,
                          std::shared_ptr<CallReport> report) const noexcept {
  const bool was_known = *identity != nullptr;
  const std::shared_ptr<UsedModels> used = was_known ? (*identity)->used() : std::make_shared<UsedModels>();
  ATOLL_RETURN_IF_ERROR(identify(question, identity, std::move(report), nullptr, used));
  if (*identity == nullptr) return {};
  const Identity& caller = (*identity)->get();
  const bool may = !was_known        ? caller.may_all(question.category, question.category_name)
                   : used != nullptr ? used->are_for(caller)
                                     : true;
  if (may) return {};
  return make_status(Code::kPermissionDenied, "the caller may not use the model any more");
}

Result<AccessPoint::Found> AccessPoint::look_up(const IdentityChain& chain,
                                                const AccessQuestion& question) const noexcept {
  Found found;
  bool is_unsure = false;  // a source that can tell nobody now may be the caller's
  for (; found.source < chain.sources.size(); ++found.source) {
    const Service<Access>& source = chain.sources[found.source];
    Result<IdentityOutcome> outcome = source.minor() >= 2
                                          ? source->identify_certified(question, &found.identity)
                                          : source->identify(question, &found.identity);
    if (!outcome.ok() && outcome.status().code() == Code::kUnauthenticated) return failed(question);
    if (outcome.ok() && *outcome == IdentityOutcome::kOpen) return Found();
    if (outcome.ok() && *outcome == IdentityOutcome::kKnown) return found;
    is_unsure = is_unsure || !outcome.ok();
    found.identity.reset();
  }
  if (is_unsure) return unavailable("it cannot be found out now who calls");
  return failed(question);
}

Status AccessPoint::failed(const AccessQuestion& question) const noexcept {
  Status unknown = make_status(Code::kUnauthenticated, kUnknownCaller);
  // Who presents nothing is no guesser.
  if (question.head.find("authorization", {}) == 0) return unknown;
  if (failed_.add(question.head.peer(), host_.clock().now_ns())) return unknown;
  return make_status(Code::kResourceExhausted, "too many wrong credentials from this address");
}

void AccessPoint::collect(std::string_view family, std::string_view instance,
                          MetricSink& sink) const noexcept {
  if (!has_sources()) return;
  sink.family(family, "Calls that presented a credential nobody knows, by how they were answered.",
              MetricKind::kCounter);
  const auto sample = [&](std::string_view answer, uint64_t count) {
    const MetricLabel labels[] = {{"instance", instance}, {"answer", answer}};
    sink.sample(labels, static_cast<double>(count));
  };
  const uint64_t limited = failed_.too_many();
  sample("unauthenticated", failed_.failures() - limited);
  sample("too_many", limited);
}

}  // namespace atl::frontends
