#include "pools/leases/api/grpc_pool_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pools/leases/api/lease_caller.h"

namespace atl::pools {
namespace {

template <class Message>
void answer(GrpcExchange& exchange, const Message& message) {
  exchange.answer(message.SerializeAsString());
}

}  // namespace

struct GrpcPoolCalls::Method {
  GrpcMethod method;
  void (GrpcPoolCalls::*run)(GrpcExchange& exchange);
};

template <class Message, auto call>
void GrpcPoolCalls::serve(GrpcExchange& exchange) {
  const std::span<const std::byte> bytes = exchange.message();
  Message message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return exchange.end(invalid_argument("the message is no ", message.GetTypeName()));
  (this->*call)(exchange, message);
}

const std::vector<GrpcPoolCalls::Method>& GrpcPoolCalls::table() {
  using Self = GrpcPoolCalls;
  static const std::string pool = "/pools.v1.PoolService/", lease = "/pools.v1.LeaseService/";
  static const std::vector<Method> methods = {
      {{pool + "Create", "pools.pool"}, &Self::serve<v1::PoolDefinition, &Self::create_pool>},
      {{pool + "List", "pools.pool"}, &Self::list_pools},
      {{pool + "Status", "pools.pool"}, &Self::serve<v1::PoolStatusRequest, &Self::pool_status>},
      {{pool + "Update", "pools.pool"}, &Self::serve<v1::UpdatePoolRequest, &Self::update_pool>},
      {{pool + "Delete", "pools.pool"}, &Self::serve<v1::DeletePoolRequest, &Self::delete_pool>},
      {{lease + "Acquire", "pools.lease"}, &Self::serve<v1::LeaseDefinition, &Self::acquire>},
      {{lease + "Plan", "pools.lease"}, &Self::serve<v1::LeaseDefinition, &Self::plan>},
      {{lease + "Renew", "pools.lease"}, &Self::serve<v1::RenewRequest, &Self::renew>},
      {{lease + "Release", "pools.lease"}, &Self::serve<v1::LeaseRequest, &Self::release>},
      {{lease + "Status", "pools.lease"}, &Self::serve<v1::LeaseRequest, &Self::lease_status>},
      {{lease + "List", "pools.lease"}, &Self::serve<v1::ListLeasesRequest, &Self::list_leases>},
      {{lease + "SetName", "pools.lease"}, &Self::serve<v1::LeaseName, &Self::set_name>},
      {{lease + "DeleteName", "pools.lease"}, &Self::serve<v1::DeleteNameRequest, &Self::delete_name>},
      {{lease + "ListNames", "pools.lease"}, &Self::list_names}};
  return methods;
}

/// One call that waits for a lease.
class GrpcPoolCalls::Waiting final : public LeaseWaiting {
 public:
  /// \param streams  each change is a message
  Waiting(const PoolBook& book, GrpcExchange& exchange, std::string lease, bool streams)
      : LeaseWaiting(exchange.cancellation(), std::move(lease), !streams),
        book_(book),
        exchange_(exchange),
        streams_(streams) {}
  virtual ~Waiting() = default;

 private:
  std::string message_of(const Lease& lease) const {
    v1::Lease message;
    write(book_, lease, &message);
    return message.SerializeAsString();
  }
  bool show(const Lease& lease) override { return !streams_ || exchange_.write(message_of(lease)).ok(); }
  void finish(const Lease& lease) override {
    if (!streams_) return exchange_.answer(message_of(lease));
    exchange_.end(has_failed(lease) ? Status(lease.record.failure, lease.record.reason) : Status());
  }
  void give_up(const Status& why) override { exchange_.end(why.clone()); }

  const PoolBook& book_;
  GrpcExchange& exchange_;
  const bool streams_;
};

std::vector<GrpcMethod> GrpcPoolCalls::all_methods() {
  std::vector<GrpcMethod> all;
  for (const Method& method : table()) all.push_back(method.method);
  return all;
}

void GrpcPoolCalls::handle(std::string_view method, GrpcExchange& exchange) noexcept {
  const auto found =
      std::ranges::find_if(table(), [&](const Method& one) { return one.method.path == method; });
  if (found == table().end()) return exchange.end(make_status(Code::kUnimplemented, ""));
  if (found->method.category == kPoolCategory) {
    if (Status denied = LeaseCaller(exchange.identity()).may_use_pools(); !denied.ok())
      return exchange.end(std::move(denied));
  }
  with_.executor.post(make_task([this, run = found->run, &exchange] {
    if (waits_.drains()) return exchange.end(unavailable("the server is ending"));
    (this->*run)(exchange);
  }));
}

// --- pools ---

void GrpcPoolCalls::answer_pool(GrpcExchange& exchange, std::string_view name) {
  const Pool* pool = manager_.book().find_pool(name);
  if (pool == nullptr) return exchange.end(not_found("pool '", name, "' is not found"));
  v1::Pool message;
  write(*pool, owner_of(exchange.identity()), &message);
  answer(exchange, message);
}

void GrpcPoolCalls::create_pool(GrpcExchange& exchange, const v1::PoolDefinition& request) {
  if (Status created = manager_.create_pool(definition_of(request)); !created.ok())
    return exchange.end(std::move(created));
  answer_pool(exchange, request.name());
}

void GrpcPoolCalls::list_pools(GrpcExchange& exchange) {
  v1::ListPoolsResponse message;
  for (const auto& [name, pool] : manager_.book().pools)
    write(*pool, owner_of(exchange.identity()), message.add_pools());
  answer(exchange, message);
}

void GrpcPoolCalls::pool_status(GrpcExchange& exchange, const v1::PoolStatusRequest& request) {
  answer_pool(exchange, request.name());
}

void GrpcPoolCalls::update_pool(GrpcExchange& exchange, const v1::UpdatePoolRequest& request) {
  const auto min = request.has_min_instances() ? std::optional(request.min_instances()) : std::nullopt;
  const auto max = request.has_max_instances() ? std::optional(request.max_instances()) : std::nullopt;
  if (Status changed = manager_.update_pool(request.name(), min, max); !changed.ok())
    return exchange.end(std::move(changed));
  answer_pool(exchange, request.name());
}

void GrpcPoolCalls::delete_pool(GrpcExchange& exchange, const v1::DeletePoolRequest& request) {
  if (Status deleted = manager_.delete_pool(request.name(), request.force()); !deleted.ok())
    return exchange.end(std::move(deleted));
  // It is gone at once where it has no instances.
  v1::Pool message;
  message.mutable_definition()->set_name(request.name());
  if (const Pool* pool = manager_.book().find_pool(request.name()); pool != nullptr)
    write(*pool, owner_of(exchange.identity()), &message);
  answer(exchange, message);
}

// --- leases ---

const Lease* GrpcPoolCalls::find_lease(GrpcExchange& exchange, std::string_view id_or_name) {
  const LeaseCaller caller(exchange.identity());
  const std::string id = manager_.book().names.lease_id_of(caller.owner(), id_or_name);
  const Lease* const lease = caller.find(manager_.book(), id);
  if (lease == nullptr) exchange.end(no_lease(id));
  return lease;
}

void GrpcPoolCalls::answer_lease(GrpcExchange& exchange, const Lease& lease) {
  v1::Lease message;
  write(manager_.book(), lease, &message);
  answer(exchange, message);
}

void GrpcPoolCalls::acquire(GrpcExchange& exchange, const v1::LeaseDefinition& request) {
  Result<LeaseDefinition> definition = definition_of(request);
  if (!definition.ok()) return exchange.end(std::move(definition).status());
  const LeaseCaller caller(exchange.identity());
  if (Status denied = caller.may_lease(*definition); !denied.ok()) return exchange.end(std::move(denied));
  definition->owner = caller.owner();
  manager_.check_models(*definition, [this, &exchange, lease = *definition](Status missing) {
    if (waits_.drains()) return exchange.end(unavailable("the server is ending"));
    if (!missing.ok()) return exchange.end(std::move(missing));
    Result<std::string> id = manager_.acquire(lease);
    if (!id.ok()) return exchange.end(std::move(id).status());
    waits_.add(std::make_shared<Waiting>(manager_.book(), exchange, *id, true));
  });
}

void GrpcPoolCalls::plan(GrpcExchange& exchange, const v1::LeaseDefinition& request) {
  Result<LeaseDefinition> definition = definition_of(request);
  if (!definition.ok()) return exchange.end(std::move(definition).status());
  const LeaseCaller caller(exchange.identity());
  if (Status denied = caller.may_lease(*definition); !denied.ok()) return exchange.end(std::move(denied));
  definition->owner = caller.owner();
  manager_.check_models(*definition, [this, &exchange, lease = *definition](Status missing) {
    if (!missing.ok()) return exchange.end(std::move(missing));
    Result<LeasePlan> plan = manager_.plan(lease);
    if (!plan.ok()) return exchange.end(std::move(plan).status());
    v1::LeasePlan message;
    write(manager_.book(), *plan, &message);
    answer(exchange, message);
  });
}

void GrpcPoolCalls::renew(GrpcExchange& exchange, const v1::RenewRequest& request) {
  std::optional<int64_t> duration_ns;
  if (request.has_duration()) {
    Result<int64_t> duration = duration_of("duration", request.duration());
    if (!duration.ok()) return exchange.end(std::move(duration).status());
    duration_ns = *duration;
  }
  const Lease* const lease = find_lease(exchange, request.lease());
  if (lease == nullptr) return;
  if (Result<int64_t> renewed = manager_.renew(lease->id(), duration_ns); !renewed.ok())
    return exchange.end(std::move(renewed).status());
  answer_lease(exchange, *lease);
}

void GrpcPoolCalls::release(GrpcExchange& exchange, const v1::LeaseRequest& request) {
  const Lease* const lease = find_lease(exchange, request.lease());
  if (lease == nullptr) return;
  const std::string id = lease->id();
  if (Status released = manager_.release(id); !released.ok()) return exchange.end(std::move(released));
  waits_.add(std::make_shared<Waiting>(manager_.book(), exchange, id, false));
}

void GrpcPoolCalls::lease_status(GrpcExchange& exchange, const v1::LeaseRequest& request) {
  if (const Lease* const lease = find_lease(exchange, request.lease()); lease != nullptr)
    answer_lease(exchange, *lease);
}

void GrpcPoolCalls::list_leases(GrpcExchange& exchange, const v1::ListLeasesRequest& request) {
  v1::ListLeasesResponse message;
  for (const Lease* lease : LeaseCaller(exchange.identity()).list(manager_.book(), request.pool()))
    write(manager_.book(), *lease, message.add_leases());
  answer(exchange, message);
}

// --- names ---

void GrpcPoolCalls::set_name(GrpcExchange& exchange, const v1::LeaseName& request) {
  const LeaseCaller caller(exchange.identity());
  if (caller.is_hidden(manager_.book(), request.lease())) return exchange.end(no_lease(request.lease()));
  if (Status set = manager_.set_name(caller.owner(), request.name(), request.lease()); !set.ok())
    return exchange.end(std::move(set));
  answer(exchange, request);
}

void GrpcPoolCalls::delete_name(GrpcExchange& exchange, const v1::DeleteNameRequest& request) {
  if (Status deleted = manager_.delete_name(owner_of(exchange.identity()), request.name()); !deleted.ok())
    return exchange.end(std::move(deleted));
  answer(exchange, v1::DeleteNameResponse());
}

void GrpcPoolCalls::list_names(GrpcExchange& exchange) {
  v1::ListNamesResponse message;
  for (const auto& [name, lease] : manager_.book().names.of_owner(owner_of(exchange.identity()))) {
    v1::LeaseName* written = message.add_names();
    written->set_name(name);
    written->set_lease(lease);
  }
  answer(exchange, message);
}

}  // namespace atl::pools
