#include "pools/leases/api/http_calls.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <utility>

#include "atoll/lib/http_request.h"
#include "pools/leases/api/json_answers.h"
#include "pools/leases/api/json_requests.h"
#include "pools/leases/api/lease_caller.h"
#include "pools/leases/api/query.h"

namespace atl::pools {
namespace {

constexpr std::string_view kJson = "application/json", kEvents = "text/event-stream";

bool asks_for_events(const HttpExchange& exchange) {
  for (uint32_t i = 0; i < exchange.header_count(); ++i) {
    const HttpHeader header = exchange.header(i);
    if (boost::beast::iequals({header.name.data(), header.name.size()}, "Accept") &&
        header.value.find(kEvents) != std::string_view::npos)
      return true;
  }
  return false;
}

void answer_json(HttpExchange& exchange, int status, std::string json) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = kJson;
  exchange.answer(reply, std::move(json));
}

}  // namespace

int http_status(const Status& refusal) noexcept {
  constexpr std::pair<Code, int> kStatuses[] = {
      {Code::kInvalidArgument, 400}, {Code::kPermissionDenied, 403},   {Code::kNotFound, 404},
      {Code::kAlreadyExists, 409},   {Code::kFailedPrecondition, 409}, {Code::kResourceExhausted, 429},
      {Code::kUnimplemented, 501},   {Code::kUnavailable, 503},        {Code::kDeadlineExceeded, 504}};
  const auto* const found = std::ranges::find(kStatuses, refusal.code(), &std::pair<Code, int>::first);
  return found == std::end(kStatuses) ? 500 : found->second;
}

/// A request, copied out of its exchange, and the way back.
struct HttpCalls::Call {
  HttpExchange* exchange = nullptr;
  std::string method, path;
  LeaseCaller caller{nullptr};
  Query query;
  Status query_error;
  std::string body;
  bool wants_events = false;

  bool is(std::string_view wanted) const { return method == wanted || (wanted == "GET" && method == "HEAD"); }
  void answer(int status, std::string json) const { answer_json(*exchange, status, std::move(json)); }
  void refuse(const Status& status) const { answer(http_status(status), error_json(status.message())); }
};

/// One exchange that waits for a lease.
class HttpCalls::Waiting final : public LeaseWaiting {
 public:
  Waiting(const PoolBook& book, const Call& call, std::string lease, bool for_its_end)
      : LeaseWaiting(call.exchange->cancellation(), std::move(lease), for_its_end),
        book_(book),
        exchange_(*call.exchange),
        streams_(call.wants_events) {}
  virtual ~Waiting() = default;

 private:
  void begin() override {
    if (!streams_) return;
    HttpReply reply;
    reply.content_type = kEvents;
    exchange_.begin(reply);
    has_begun_ = true;
  }
  bool show(const Lease& lease) override {
    return !streams_ || exchange_.write(cat("data: ", lease_json(book_, lease), "\n\n")).ok();
  }
  /// A model that cannot be loaded is the client's matter, an instance that cannot be started is not.
  void finish(const Lease& lease) override {
    const int failed = lease.record.failure == Code::kFailedPrecondition ? 422 : 503;
    end(has_failed(lease) ? failed : 200, lease_json(book_, lease));
  }
  void give_up(const Status& why) override {
    end(why.code() == Code::kCancelled ? 499 : 503, error_json(why.message()));
  }
  /// \param json  of what does not stream
  void end(int status, std::string json) {
    if (has_begun_) return exchange_.end();
    answer_json(exchange_, status, std::move(json));
  }

  const PoolBook& book_;
  HttpExchange& exchange_;
  const bool streams_;
  bool has_begun_ = false;
};

std::vector<HttpRoute> HttpCalls::all_routes() {
  const uint32_t get = kHttpGet | kHttpHead;
  return {{"/v2/pools", get | kHttpPost, "pools.pool"},
          {"/v2/pools/*", get | kHttpPatch | kHttpDelete, "pools.pool"},
          {"/v2/leases", get | kHttpPost, "pools.lease"},
          {"/v2/leases/*", get | kHttpPost | kHttpDelete, "pools.lease"},
          {"/v2/lease_names", get, "pools.lease"},
          {"/v2/lease_names/*", get | kHttpPut | kHttpDelete, "pools.lease"}};
}

void HttpCalls::handle(std::string_view /*route*/, HttpExchange& exchange) noexcept {
  auto call = std::make_unique<Call>();
  call->exchange = &exchange;
  call->method = exchange.method();
  call->path = exchange.path();
  call->caller = LeaseCaller(exchange.identity());
  Result<Query> query = Query::parse(exchange.query());
  if (query.ok())
    call->query = std::move(query).value();
  else
    call->query_error = std::move(query).status();
  const std::span<const std::byte> body = exchange.body();
  call->body.assign(reinterpret_cast<const char*>(body.data()), body.size());
  call->wants_events = asks_for_events(exchange);
  with_.executor.post(make_task([this, call = std::shared_ptr<Call>(std::move(call))] { serve(call); }));
}

namespace {

/// The names that a query of this call may have.
Status check_query(const Query& query, std::string_view method, std::string_view path) {
  if (path == "/v2/leases") return method == "POST" ? query.allow({"dry_run"}) : query.allow({"pool"});
  if (path.starts_with("/v2/pools/") && method == "DELETE") return query.allow({"force"});
  const bool is_ours = path == "/v2/pools" || path.starts_with("/v2/pools/") ||
                       path.starts_with("/v2/leases/") || path == "/v2/lease_names" ||
                       path.starts_with("/v2/lease_names/");
  return is_ours ? query.allow({}) : Status();
}

}  // namespace

void HttpCalls::serve(const std::shared_ptr<Call>& shared) {
  Call& call = *shared;
  if (waits_.drains()) return call.refuse(unavailable("the server is ending"));
  if (call.query_error.ok()) call.query_error = check_query(call.query, call.method, call.path);
  if (!call.query_error.ok()) return call.refuse(call.query_error);
  const auto rest_behind = [&](std::string_view prefix) -> std::optional<std::string> {
    if (!call.path.starts_with(prefix)) return std::nullopt;
    return percent_decode(std::string_view(call.path).substr(prefix.size()));
  };
  if (call.path.starts_with("/v2/pools")) {
    if (Status denied = call.caller.may_use_pools(); !denied.ok()) return call.refuse(denied);
  }
  if (call.path == "/v2/pools") return serve_pools(call);
  if (call.path == "/v2/leases") return serve_leases(shared);
  if (call.path == "/v2/lease_names")
    return call.answer(200, names_json(manager_.book(), call.caller.owner()));
  if (const auto name = rest_behind("/v2/pools/")) return serve_pool(call, *name);
  if (const auto id = rest_behind("/v2/leases/")) return serve_lease(call, *id);
  if (const auto name = rest_behind("/v2/lease_names/")) return serve_name(call, *name);
  call.answer(404, error_json("Not Found"));
}

// --- pools ---

void HttpCalls::answer_pool(Call& call, std::string_view name) {
  const Pool* pool = manager_.book().find_pool(name);
  if (pool == nullptr) return call.refuse(not_found("pool '", name, "' is not found"));
  call.answer(200, pool_json(*pool, call.caller.owner()));
}

void HttpCalls::serve_pools(Call& call) {
  if (call.is("GET")) return call.answer(200, pools_json(manager_.book(), call.caller.owner()));
  Result<PoolDefinition> pool = read_pool(call.body);
  if (!pool.ok()) return call.refuse(pool.status());
  if (Status created = manager_.create_pool(*pool); !created.ok()) return call.refuse(created);
  answer_pool(call, pool->name);
}

void HttpCalls::serve_pool(Call& call, const std::string& name) {
  if (call.is("GET")) return answer_pool(call, name);
  if (call.is("DELETE")) {
    Result<bool> force = call.query.flag("force");
    if (!force.ok()) return call.refuse(force.status());
    if (Status deleted = manager_.delete_pool(name, *force); !deleted.ok()) return call.refuse(deleted);
    // It is gone at once where it has no instances.
    const Pool* pool = manager_.book().find_pool(name);
    return call.answer(200,
                       pool == nullptr ? one_text_json("name", name) : pool_json(*pool, call.caller.owner()));
  }
  Result<PoolUpdate> update = read_pool_update(call.body);
  if (!update.ok()) return call.refuse(update.status());
  const Status changed = manager_.update_pool(name, update->min_instances, update->max_instances);
  if (!changed.ok()) return call.refuse(changed);
  answer_pool(call, name);
}

// --- leases ---

void HttpCalls::serve_leases(const std::shared_ptr<Call>& call) {
  if (call->is("GET")) {
    const PoolBook& book = manager_.book();
    return call->answer(200, leases_json(book, call->caller.list(book, call->query.text("pool"))));
  }
  Result<LeaseDefinition> lease = read_lease(call->body);
  if (!lease.ok()) return call->refuse(lease.status());
  if (Status denied = call->caller.may_lease(*lease); !denied.ok()) return call->refuse(denied);
  lease->owner = call->caller.owner();
  Result<bool> is_plan = call->query.flag("dry_run");
  if (!is_plan.ok()) return call->refuse(is_plan.status());
  manager_.check_models(*lease, [this, call, lease = *lease, plans = *is_plan](Status missing) {
    if (waits_.drains()) return call->refuse(unavailable("the server is ending"));
    // As of one that fails to load: the client's matter, and no state of the pool.
    if (!missing.ok()) return call->answer(422, error_json(missing.message()));
    return plans ? plan(*call, lease) : acquire(*call, lease);
  });
}

void HttpCalls::plan(const Call& call, const LeaseDefinition& lease) {
  Result<LeasePlan> plan = manager_.plan(lease);
  return plan.ok() ? call.answer(200, plan_json(manager_.book(), *plan)) : call.refuse(plan.status());
}

void HttpCalls::acquire(Call& call, const LeaseDefinition& lease) {
  Result<std::string> id = manager_.acquire(lease);
  if (!id.ok()) return call.refuse(id.status());
  wait_for(call, *id, false);
}

void HttpCalls::serve_lease(Call& call, const std::string& path) {
  constexpr std::string_view kRenew = "/renew";
  const bool renews = call.is("POST");
  if (renews && !path.ends_with(kRenew)) return call.answer(404, error_json("Not Found"));
  const PoolBook& book = manager_.book();
  const std::string id = book.names.lease_id_of(call.caller.owner(),
                                                renews ? path.substr(0, path.size() - kRenew.size()) : path);
  const Lease* const lease = call.caller.find(book, id);
  if (renews) {
    Result<std::optional<int64_t>> duration = read_renewal(call.body);
    if (!duration.ok()) return call.refuse(duration.status());
    if (lease == nullptr) return call.refuse(no_lease(id));
    if (Result<int64_t> renewed = manager_.renew(id, *duration); !renewed.ok())
      return call.refuse(renewed.status());
  } else if (lease == nullptr) {
    return call.refuse(no_lease(id));
  } else if (call.is("DELETE")) {
    if (Status released = manager_.release(id); !released.ok()) return call.refuse(released);
    return wait_for(call, id, true);
  }
  if (call.wants_events && !renews) return wait_for(call, id, true);
  call.answer(200, lease_json(book, *lease));
}

void HttpCalls::wait_for(Call& call, const std::string& lease, bool for_its_end) {
  waits_.add(std::make_shared<Waiting>(manager_.book(), call, lease, for_its_end));
}

// --- names ---

void HttpCalls::serve_name(Call& call, const std::string& name) {
  if (call.is("PUT")) {
    Result<std::string> lease = read_lease_name(call.body);
    if (!lease.ok()) return call.refuse(lease.status());
    if (call.caller.is_hidden(manager_.book(), *lease)) return call.refuse(no_lease(*lease));
    if (Status set = manager_.set_name(call.caller.owner(), name, *lease); !set.ok()) return call.refuse(set);
  } else if (call.is("DELETE")) {
    if (Status deleted = manager_.delete_name(call.caller.owner(), name); !deleted.ok())
      return call.refuse(deleted);
    return call.answer(200, one_text_json("name", name));
  }
  const LeaseNames::LeaseIds& names = manager_.book().names.of_owner(call.caller.owner());
  const auto found = names.find(name);
  if (found == names.end()) return call.refuse(not_found("lease name '", name, "' is not found"));
  call.answer(200, name_json(found->first, found->second));
}

}  // namespace atl::pools
