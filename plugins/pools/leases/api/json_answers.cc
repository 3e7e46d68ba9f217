#include "pools/leases/api/json_answers.h"

#include <algorithm>
#include <map>
#include <set>

#include "atoll/lib/json_writer.h"
#include "atoll/lib/rfc3339.h"

namespace atl::pools {
namespace {

void write_definition(CheckedWriter& json, const PoolRecord& record) {
  const PoolDefinition& pool = record.definition;
  write_member(json, "name", pool.name);
  write_member(json, "state", record.is_deleting ? "DELETING" : "ACTIVE");
  write_member(json, "min_instances", pool.min_instances);
  write_member(json, "max_instances", pool.max_instances);
  write_member(json, "quota", pool.quota);
  write_member(json, "enforce_backends", pool.enforce_backends);
  write_object(json, "instance", [&] {
    write_member(json, "runtime", pool.instance.runtime);
    write_member(json, "cpus", pool.instance.cpus);
    write_member(json, "gpus", pool.instance.gpus);
    write_member(json, "memory", pool.instance.memory_bytes);
  });
}

void write_backends(CheckedWriter& json, const BackendNames& names, const Place& place) {
  if (place.backends_state == InstanceBackends::kUnknown) {
    write_key(json, "backends");
    json.Null();
    return;
  }
  write_array(json, "backends", names.names_of(place.backends),
              [&](const std::string& backend) { write_text(json, backend); });
}

/// By instance, the ids of its leases.
using IdsOfLeases = std::map<const PoolInstance*, std::set<std::string_view>>;

IdsOfLeases ids_of_leases(const Pool& pool, std::string_view owner) {
  IdsOfLeases ids;
  for (const Lease* lease : pool.leases()) {
    if (lease->record.definition.owner == owner) ids[lease->instance()].insert(lease->id());
  }
  return ids;
}

/// \param instance  null: there is none
void write_address(CheckedWriter& json, const PoolInstance* instance) {
  const ServerAddress address = instance == nullptr ? ServerAddress() : instance->address();
  write_member(json, "address", address.http.host.empty() ? std::string() : address.http.text());
  if (!address.grpc.host.empty()) write_member(json, "grpc_address", address.grpc.text());
}

void write_instance(CheckedWriter& json, const Pool& pool, const Place& place, IdsOfLeases& ids) {
  const PoolInstance& instance = pool.instance(place.instance);
  write_member(json, "name", name_of_instance(place.instance));
  write_member(json, "id", instance.id());
  write_member(json, "state", name_of(instance.state()));
  write_address(json, &instance);
  write_member(json, "used", place.used);
  write_member(json, "free", place.free);
  write_backends(json, pool.backend_names(), place);
  write_array(json, "leases", ids[&instance], [&](std::string_view id) { write_text(json, id); });
  if (instance.state() == InstanceState::kFailed) write_member(json, "reason", instance.failure().message());
}

void write_pool(CheckedWriter& json, const Pool& pool, std::string_view owner) {
  write_definition(json, pool.record());
  IdsOfLeases ids = ids_of_leases(pool, owner);
  write_array(json, "instances", pool.places().places(), [&](const Place& place) {
    write_object(json, [&] { write_instance(json, pool, place, ids); });
  });
}

void write_use(CheckedWriter& json, const ObservedUse* use) {
  if (use == nullptr) return;
  write_object(json, "use", [&] {
    write_member(json, "requests", use->requests);
    write_member(json, "compute_seconds", static_cast<double>(use->compute_ns) / 1e9);
    write_member(json, "queue_seconds", static_cast<double>(use->queue_ns) / 1e9);
    write_member(json, "busy", use->busy);
  });
}

void write_lease(CheckedWriter& json, const PoolBook& book, const Lease& lease) {
  const LeaseRecord& record = lease.record;
  const PoolInstance* instance = lease.instance();
  write_member(json, "id", record.id);
  write_member(json, "name", book.names.first_of(record.id));
  write_member(json, "pool", record.definition.pool);
  write_member(json, "state", name_of(record.state));
  write_member(json, "quota", record.definition.quota);
  write_member(json, "instance", instance == nullptr ? std::string() : name_of_instance(instance->number()));
  write_address(json, instance);
  write_member(json, "created_at", write_rfc3339(record.created_wall_ns, SecondDigits::kMilliseconds));
  write_member(json, "expires_at", write_rfc3339(record.expires_wall_ns, SecondDigits::kMilliseconds));
  if (!record.reason.empty()) write_member(json, "reason", record.reason);
  write_use(json, book.leases.observed(lease));
  size_t index = 0;
  write_array(json, "models", lease.models(), [&](const ModelStatus& model) {
    write_object(json, [&] {
      write_member(json, "name", record.definition.models[index++].name);
      write_member(json, "state", name_of(model.state));
      write_member(json, "reason", model.reason);
    });
  });
}

void write_name(CheckedWriter& json, std::string_view name, std::string_view lease) {
  write_member(json, "name", name);
  write_member(json, "lease", lease);
}

}  // namespace

std::string pool_json(const Pool& pool, std::string_view owner) {
  return object_json([&](CheckedWriter& json) { write_pool(json, pool, owner); });
}

std::string pools_json(const PoolBook& book, std::string_view owner) {
  return object_json([&](CheckedWriter& json) {
    write_array(json, "pools", book.pools, [&](const auto& pool) {
      write_object(json, [&] { write_pool(json, *pool.second, owner); });
    });
  });
}

std::string lease_json(const PoolBook& book, const Lease& lease) {
  return object_json([&](CheckedWriter& json) { write_lease(json, book, lease); });
}

std::string leases_json(const PoolBook& book, const std::vector<const Lease*>& leases) {
  return object_json([&](CheckedWriter& json) {
    write_array(json, "leases", leases,
                [&](const Lease* lease) { write_object(json, [&] { write_lease(json, book, *lease); }); });
  });
}

std::string plan_json(const PoolBook& book, const LeasePlan& plan) {
  return object_json([&](CheckedWriter& json) {
    if (plan.instance) {
      write_member(json, "instance", name_of_instance(*plan.instance));
    } else {
      write_key(json, "instance");
      json.Null();
    }
    write_member(json, "starts_instance", plan.starts_instance);
    write_member(json, "reason", plan.refusal.message());
    write_array(json, "instances", plan.instances, [&](const LeasePlan::Candidate& candidate) {
      write_object(json, [&] {
        write_member(json, "name", name_of_instance(candidate.place.instance));
        write_member(json, "used", candidate.place.used);
        write_member(json, "free", candidate.place.free);
        write_backends(json, book.backends.names(), candidate.place);
        write_member(json, "reason", candidate.why_not);
      });
    });
  });
}

std::string names_json(const PoolBook& book, std::string_view owner) {
  return object_json([&](CheckedWriter& json) {
    write_array(json, "names", book.names.of_owner(owner), [&](const auto& name) {
      write_object(json, [&] { write_name(json, name.first, name.second); });
    });
  });
}

std::string name_json(std::string_view name, std::string_view lease) {
  return object_json([&](CheckedWriter& json) { write_name(json, name, lease); });
}

std::string error_json(std::string_view text) { return one_text_json("error", text); }

std::string one_text_json(std::string_view name, std::string_view text) {
  return object_json([&](CheckedWriter& json) { write_member(json, name, text); });
}

}  // namespace atl::pools
