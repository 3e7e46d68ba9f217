#include "pools/leases/api/json_answers.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>

#include "atoll/core/utf8.h"
#include "atoll/lib/checked_json.h"

namespace atl::pools {
namespace {

/// Members of objects and elements of arrays, one after the other.
class Json {
 public:
  template <class Write>
  void object(Write&& write) {
    writer_.StartObject();
    write();
    writer_.EndObject();
  }
  template <class List, class Write>
  void array(std::string_view name, const List& list, Write&& write) {
    key(name);
    writer_.StartArray();
    for (const auto& element : list) write(element);
    writer_.EndArray();
  }
  void key(std::string_view name) { writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size())); }
  /// Servers and engines say what they like.
  void text(std::string_view value) {
    const std::string valid = is_utf8(value) ? std::string() : replace_invalid_utf8(value);
    const std::string_view written = is_utf8(value) ? value : std::string_view(valid);
    writer_.String(written.data(), static_cast<rapidjson::SizeType>(written.size()));
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void number(std::string_view name, uint64_t value) {
    key(name);
    writer_.Uint64(value);
  }
  void seconds(std::string_view name, double value) {
    key(name);
    writer_.Double(value);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    writer_.Bool(value);
  }
  void null(std::string_view name) {
    key(name);
    writer_.Null();
  }
  std::string take() { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  CheckedBuffer buffer_;
  CheckedWriter writer_{buffer_};
};

void write_definition(Json& json, const PoolRecord& record) {
  const PoolDefinition& pool = record.definition;
  json.text("name", pool.name);
  json.text("state", record.is_deleting ? "DELETING" : "ACTIVE");
  json.number("min_instances", pool.min_instances);
  json.number("max_instances", pool.max_instances);
  json.number("quota", pool.quota);
  json.boolean("enforce_backends", pool.enforce_backends);
  json.key("instance");
  json.object([&] {
    json.text("runtime", pool.instance.runtime);
    json.number("cpus", pool.instance.cpus);
    json.number("gpus", pool.instance.gpus);
    json.number("memory", pool.instance.memory_bytes);
  });
}

void write_backends(Json& json, const BackendNames& names, const Place& place) {
  if (place.backends_state == InstanceBackends::kUnknown) return json.null("backends");
  json.array("backends", names.names_of(place.backends),
             [&](const std::string& backend) { json.text(backend); });
}

/// By instance, the ids of its leases.
using IdsOfLeases = std::map<const PoolInstance*, std::set<std::string_view>>;

IdsOfLeases ids_of_leases(const Pool& pool) {
  IdsOfLeases ids;
  for (const Lease* lease : pool.leases()) ids[lease->instance()].insert(lease->id());
  return ids;
}

/// \param instance  null: there is none
void write_address(Json& json, const PoolInstance* instance) {
  const ServerAddress address = instance == nullptr ? ServerAddress() : instance->address();
  json.text("address", address.http.host.empty() ? std::string() : address.http.text());
  if (!address.grpc.host.empty()) json.text("grpc_address", address.grpc.text());
}

void write_instance(Json& json, const Pool& pool, const Place& place, IdsOfLeases& ids) {
  const PoolInstance& instance = pool.instance(place.instance);
  json.text("name", name_of_instance(place.instance));
  json.text("id", instance.id());
  json.text("state", name_of(instance.state()));
  write_address(json, &instance);
  json.number("used", place.used);
  json.number("free", place.free);
  write_backends(json, pool.backend_names(), place);
  json.array("leases", ids[&instance], [&](std::string_view id) { json.text(id); });
  if (instance.state() == InstanceState::kFailed) json.text("reason", instance.failure().message());
}

void write_pool(Json& json, const Pool& pool) {
  write_definition(json, pool.record());
  IdsOfLeases ids = ids_of_leases(pool);
  json.array("instances", pool.places().places(),
             [&](const Place& place) { json.object([&] { write_instance(json, pool, place, ids); }); });
}

void write_use(Json& json, const ObservedUse* use) {
  if (use == nullptr) return;
  json.key("use");
  json.object([&] {
    json.number("requests", use->requests);
    json.seconds("compute_seconds", static_cast<double>(use->compute_ns) / 1e9);
    json.seconds("queue_seconds", static_cast<double>(use->queue_ns) / 1e9);
    json.seconds("busy", use->busy);
  });
}

void write_lease(Json& json, const PoolBook& book, const Lease& lease) {
  const LeaseRecord& record = lease.record;
  const PoolInstance* instance = lease.instance();
  json.text("id", record.id);
  json.text("name", book.names.first_of(record.id));
  json.text("pool", record.definition.pool);
  json.text("state", name_of(record.state));
  json.number("quota", record.definition.quota);
  json.text("instance", instance == nullptr ? std::string() : name_of_instance(instance->number()));
  write_address(json, instance);
  json.text("created_at", rfc3339(record.created_wall_ns));
  json.text("expires_at", rfc3339(record.expires_wall_ns));
  if (!record.reason.empty()) json.text("reason", record.reason);
  write_use(json, book.leases.observed(lease));
  size_t index = 0;
  json.array("models", lease.models(), [&](const ModelStatus& model) {
    json.object([&] {
      json.text("name", record.definition.models[index++].name);
      json.text("state", name_of(model.state));
      json.text("reason", model.reason);
    });
  });
}

void write_name(Json& json, std::string_view name, std::string_view lease) {
  json.text("name", name);
  json.text("lease", lease);
}

/// An object with the members that `write` writes.
template <class Write>
std::string object_json(Write&& write) {
  Json json;
  json.object([&] { write(json); });
  return json.take();
}

}  // namespace

std::string rfc3339(int64_t wall_ns) {
  constexpr int64_t kLastSecond = 253'402'300'799;  // of the year 9999
  const int64_t wall_ms = std::clamp<int64_t>(wall_ns / kNsPerMs, 0, kLastSecond * 1000 + 999);
  const std::time_t seconds = wall_ms / 1000;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(wall_ms % 1000));
  return text;
}

std::string pool_json(const Pool& pool) {
  return object_json([&](Json& json) { write_pool(json, pool); });
}

std::string pools_json(const PoolBook& book) {
  return object_json([&](Json& json) {
    json.array("pools", book.pools,
               [&](const auto& pool) { json.object([&] { write_pool(json, *pool.second); }); });
  });
}

std::string lease_json(const PoolBook& book, const Lease& lease) {
  return object_json([&](Json& json) { write_lease(json, book, lease); });
}

std::string leases_json(const PoolBook& book, std::string_view pool) {
  return object_json([&](Json& json) {
    json.array("leases", book.leases.of_pool(pool),
               [&](const Lease* lease) { json.object([&] { write_lease(json, book, *lease); }); });
  });
}

std::string plan_json(const PoolBook& book, const LeasePlan& plan) {
  return object_json([&](Json& json) {
    if (plan.instance) {
      json.text("instance", name_of_instance(*plan.instance));
    } else {
      json.null("instance");
    }
    json.boolean("starts_instance", plan.starts_instance);
    json.text("reason", plan.refusal.message());
    json.array("instances", plan.instances, [&](const LeasePlan::Candidate& candidate) {
      json.object([&] {
        json.text("name", name_of_instance(candidate.place.instance));
        json.number("used", candidate.place.used);
        json.number("free", candidate.place.free);
        write_backends(json, book.backends.names(), candidate.place);
        json.text("reason", candidate.why_not);
      });
    });
  });
}

std::string names_json(const PoolBook& book) {
  return object_json([&](Json& json) {
    json.array("names", book.names.all(),
               [&](const auto& name) { json.object([&] { write_name(json, name.first, name.second); }); });
  });
}

std::string name_json(std::string_view name, std::string_view lease) {
  return object_json([&](Json& json) { write_name(json, name, lease); });
}

std::string error_json(std::string_view text) { return one_text_json("error", text); }

std::string one_text_json(std::string_view name, std::string_view text) {
  return object_json([&](Json& json) { json.text(name, text); });
}

}  // namespace atl::pools
