#include "pools/leases/api/messages.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/utf8.h"

namespace atl::pools {
namespace {

/// gRPC clients refuse messages whose texts are not UTF-8, and servers and engines say what they like.
std::string text(std::string_view value) {
  return is_utf8(value) ? std::string(value) : replace_invalid_utf8(value);
}

/// \param message  a Duration or a Timestamp
template <class Message>
void write_ns(int64_t ns, Message* message) {
  message->set_seconds(ns / kNsPerSecond);
  message->set_nanos(static_cast<int32_t>(ns % kNsPerSecond));
}

void write_address(const HostPort& address, std::string* message) {
  if (!address.host.empty()) *message = address.text();
}

void write_place(const Place& place, const BackendNames& names, v1::Instance* message) {
  message->set_name(name_of_instance(place.instance));
  message->set_used(place.used);
  message->set_free(place.free);
  message->set_backends_known(place.backends_state != InstanceBackends::kUnknown);
  for (const std::string& backend : names.names_of(place.backends)) message->add_backends(text(backend));
}

void write_definition(const PoolDefinition& pool, v1::PoolDefinition* message) {
  message->set_name(pool.name);
  message->set_min_instances(pool.min_instances);
  message->set_max_instances(pool.max_instances);
  message->set_quota(pool.quota);
  message->set_enforce_backends(pool.enforce_backends);
  v1::InstanceDefinition* instance = message->mutable_instance();
  instance->set_runtime(pool.instance.runtime);
  instance->set_cpus(pool.instance.cpus);
  instance->set_gpus(pool.instance.gpus);
  instance->set_memory_bytes(pool.instance.memory_bytes);
}

}  // namespace

PoolDefinition definition_of(const v1::PoolDefinition& message) {
  PoolDefinition pool;
  pool.name = message.name();
  pool.min_instances = message.min_instances();
  pool.max_instances = message.max_instances();
  pool.quota = message.quota();
  pool.enforce_backends = !message.has_enforce_backends() || message.enforce_backends();
  pool.instance.runtime = message.instance().runtime();
  pool.instance.cpus = message.instance().cpus();
  pool.instance.gpus = message.instance().gpus();
  pool.instance.memory_bytes = message.instance().memory_bytes();
  return pool;
}

Result<int64_t> duration_of(std::string_view field, const google::protobuf::Duration& message) {
  constexpr int64_t kSecondsMax = INT64_MAX / kNsPerSecond - 1;
  if (message.seconds() < 0 || message.seconds() > kSecondsMax || message.nanos() < 0 ||
      message.nanos() >= kNsPerSecond)
    return invalid_argument(field, " is ", message.seconds(), " s and ", message.nanos(),
                            " ns, expected 0 to ", kSecondsMax, " s and less than a second of ns");
  return message.seconds() * kNsPerSecond + message.nanos();
}

Result<LeaseDefinition> definition_of(const v1::LeaseDefinition& message) {
  LeaseDefinition lease;
  lease.pool = message.pool();
  lease.quota = message.quota();
  lease.idempotency_key = message.idempotency_key();
  if (message.has_duration()) {
    Result<int64_t> duration = duration_of("duration", message.duration());
    if (!duration.ok()) return std::move(duration).status();
    lease.duration_ns = *duration;
  }
  for (const v1::LeaseModel& model : message.models()) {
    // One more than there may be is enough to be refused for.
    if (lease.models.size() > kLeaseModelsMax) break;
    lease.models.push_back({model.name(), model.source()});
  }
  if (message.has_auto_renew()) {
    AutoRenew& renew = lease.auto_renew.emplace();
    Result<int64_t> duration = duration_of("auto_renew.duration", message.auto_renew().duration());
    if (!duration.ok()) return std::move(duration).status();
    Result<int64_t> window = duration_of("auto_renew.window", message.auto_renew().window());
    if (!window.ok()) return std::move(window).status();
    renew = {*duration, *window};
  }
  return lease;
}

void write(const Pool& pool, std::string_view owner, v1::Pool* message) {
  write_definition(pool.record().definition, message->mutable_definition());
  message->set_state(pool.record().is_deleting ? "DELETING" : "ACTIVE");
  std::map<uint32_t, v1::Instance*> instances;
  for (const Place& place : pool.places().places()) {
    v1::Instance* written = instances[place.instance] = message->add_instances();
    const PoolInstance& instance = pool.instance(place.instance);
    write_place(place, pool.backend_names(), written);
    written->set_id(instance.id());
    written->set_state(std::string(name_of(instance.state())));
    write_address(instance.address().http, written->mutable_address());
    if (instance.state() == InstanceState::kFailed) written->set_reason(text(instance.failure().message()));
  }
  std::vector<const Lease*> leases(pool.leases().begin(), pool.leases().end());
  std::ranges::sort(leases, {}, &Lease::id);
  for (const Lease* lease : leases) {
    if (lease->instance() != nullptr && lease->record.definition.owner == owner)
      instances.at(lease->instance()->number())->add_leases(lease->id());
  }
}

void write(const PoolBook& book, const Lease& lease, v1::Lease* message) {
  const LeaseRecord& record = lease.record;
  message->set_id(record.id);
  message->set_name(std::string(book.names.first_of(record.id)));
  message->set_pool(record.definition.pool);
  message->set_state(std::string(name_of(record.state)));
  message->set_quota(record.definition.quota);
  if (const PoolInstance* instance = lease.instance(); instance != nullptr) {
    message->set_instance(name_of_instance(instance->number()));
    write_address(instance->address().http, message->mutable_address());
    write_address(instance->address().grpc, message->mutable_grpc_address());
  }
  write_ns(record.created_wall_ns, message->mutable_created_at());
  write_ns(record.expires_wall_ns, message->mutable_expires_at());
  message->set_reason(text(record.reason));
  size_t index = 0;
  for (const ModelStatus& model : lease.models()) {
    v1::ModelStatus* written = message->add_models();
    written->set_name(record.definition.models[index++].name);
    written->set_state(std::string(name_of(model.state)));
    written->set_reason(text(model.reason));
  }
  const ObservedUse* use = book.leases.observed(lease);
  if (use == nullptr) return;
  message->mutable_use()->set_requests(use->requests);
  message->mutable_use()->set_busy(use->busy);
  write_ns(use->compute_ns, message->mutable_use()->mutable_compute());
  write_ns(use->queue_ns, message->mutable_use()->mutable_queue());
}

void write(const PoolBook& book, const LeasePlan& plan, v1::LeasePlan* message) {
  if (plan.instance) message->set_instance(name_of_instance(*plan.instance));
  message->set_starts_instance(plan.starts_instance);
  message->set_reason(text(plan.refusal.message()));
  for (const LeasePlan::Candidate& candidate : plan.instances) {
    v1::Instance* written = message->add_instances();
    write_place(candidate.place, book.backends.names(), written);
    written->set_reason(text(candidate.why_not));
  }
}

}  // namespace atl::pools
