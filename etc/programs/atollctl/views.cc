#include "views.h"

#include <string>
#include <vector>

#include "atoll/core/text.h"

namespace atl::ctl {
namespace {

using nlohmann::json;

constexpr size_t kBarWidth = 20;

/// Of any member, as it is shown; empty: there is none.
std::string text(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

uint64_t number(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_number_unsigned()) return 0;
  return found->get<uint64_t>();
}

const json& list(const json& object, const char* name) {
  static const json kNone = json::array();
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : kNone;
}

std::string join(const json& texts) {
  std::string all;
  for (const json& one : texts)
    all += (all.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
  return all;
}

bool print_raw(std::ostream& out, const json& answer, Format format) {
  if (format == Format::kJson) out << answer.dump(2) << '\n';
  return format == Format::kJson;
}

std::string backends(const json& instance) {
  const auto found = instance.find("backends");
  if (found == instance.end()) return {};
  return found->is_null() ? "unknown" : found->empty() ? "-" : join(*found);
}

std::string models_of(const json& lease) {
  std::string all;
  for (const json& model : list(lease, "models")) all += (all.empty() ? "" : ",") + text(model, "name");
  return all;
}

}  // namespace

void print_pools(std::ostream& out, const json& answer, Format format) {
  if (print_raw(out, answer, format)) return;
  Table table({"POOL", "STATE", "INSTANCES", "MIN", "MAX", "QUOTA", "USED", "FREE"});
  for (const json& pool : list(answer, "pools")) {
    uint64_t used = 0, free = 0;
    for (const json& instance : list(pool, "instances")) {
      used += number(instance, "used");
      free += number(instance, "free");
    }
    table.add({text(pool, "name"), text(pool, "state"), cat(list(pool, "instances").size()),
               text(pool, "min_instances"), text(pool, "max_instances"), text(pool, "quota"), cat(used),
               cat(free)});
  }
  table.print(out, format);
}

void print_pool(std::ostream& out, const json& pool, Format format) {
  if (print_raw(out, pool, format)) return;
  const bool is_table = format == Format::kTable;
  if (is_table) {
    out << escaped(text(pool, "name")) << ": " << escaped(text(pool, "state")) << ", quota "
        << text(pool, "quota") << " each, instances: " << list(pool, "instances").size() << " of "
        << text(pool, "min_instances") << " to " << text(pool, "max_instances")
        << (text(pool, "enforce_backends") == "false" ? ", any backends" : "") << "\n\n";
  }
  Table table(
      is_table ? std::vector<std::string>{"INSTANCE", "STATE", "QUOTA", "", "BACKENDS", "LEASES", "ADDRESS"}
               : std::vector<std::string>(7));
  for (const json& instance : list(pool, "instances")) {
    const uint64_t used = number(instance, "used"), all = used + number(instance, "free");
    const std::string shown = is_table ? bar(used, all, kBarWidth) : cat(used);
    table.add({text(instance, "name"), text(instance, "state"), shown,
               is_table ? cat(used, "/", all) : cat(all), backends(instance),
               cat(list(instance, "leases").size()), text(instance, "address")});
  }
  table.print(out, format);
  for (const json& instance : list(pool, "instances")) {
    if (const std::string reason = text(instance, "reason"); is_table && !reason.empty())
      out << escaped(text(instance, "name")) << ": " << escaped(reason) << '\n';
  }
}

void print_leases(std::ostream& out, const json& answer, Format format) {
  if (print_raw(out, answer, format)) return;
  Table table({"LEASE", "NAME", "POOL", "STATE", "QUOTA", "INSTANCE", "EXPIRES", "MODELS"});
  for (const json& lease : list(answer, "leases")) {
    table.add({text(lease, "id"), text(lease, "name"), text(lease, "pool"), text(lease, "state"),
               text(lease, "quota"), text(lease, "instance"), text(lease, "expires_at"), models_of(lease)});
  }
  table.print(out, format);
}

void print_lease(std::ostream& out, const json& lease, Format format) {
  if (print_raw(out, lease, format)) return;
  if (format == Format::kPorcelain) return print_leases(out, {{"leases", json::array({lease})}}, format);
  Table table({"LEASE", escaped(text(lease, "id"))});
  for (const auto& [title, name] :
       {std::pair{"name", "name"}, std::pair{"pool", "pool"}, std::pair{"state", "state"},
        std::pair{"reason", "reason"}, std::pair{"quota", "quota"}, std::pair{"instance", "instance"},
        std::pair{"address", "address"}, std::pair{"created", "created_at"},
        std::pair{"expires", "expires_at"}}) {
    if (const std::string value = text(lease, name); !value.empty()) table.add({title, value});
  }
  for (const json& model : list(lease, "models")) {
    const std::string reason = text(model, "reason");
    table.add(
        {"model", cat(text(model, "name"), " ", text(model, "state"), reason.empty() ? "" : ": ", reason)});
  }
  if (const auto use = lease.find("use"); use != lease.end()) {
    table.add({"use", cat(text(*use, "requests"), " requests, ", text(*use, "compute_seconds"),
                          " s of computation, busy ", text(*use, "busy"))});
  }
  table.print(out, format);
}

void print_plan(std::ostream& out, const json& plan, Format format) {
  if (print_raw(out, plan, format)) return;
  if (format == Format::kTable) {
    const std::string instance = text(plan, "instance"), reason = text(plan, "reason");
    out << (!instance.empty()                         ? "it would go to " + instance
            : text(plan, "starts_instance") == "true" ? "an instance would be started for it"
                                                      : "it would be refused: " + escaped(reason))
        << "\n\n";
  }
  Table table({"INSTANCE", "USED", "FREE", "BACKENDS", "WHY NOT"});
  for (const json& instance : list(plan, "instances")) {
    table.add({text(instance, "name"), text(instance, "used"), text(instance, "free"), backends(instance),
               text(instance, "reason")});
  }
  table.print(out, format);
}

void print_names(std::ostream& out, const json& answer, Format format) {
  if (print_raw(out, answer, format)) return;
  Table table({"NAME", "LEASE"});
  for (const json& name : list(answer, "names")) table.add({text(name, "name"), text(name, "lease")});
  table.print(out, format);
}

void print_models(std::ostream& out, const json& index, Format format) {
  if (print_raw(out, index, format)) return;
  Table table({"MODEL", "VERSION", "STATE", "REASON"});
  if (index.is_array()) {
    for (const json& model : index)
      table.add({text(model, "name"), text(model, "version"), text(model, "state"), text(model, "reason")});
  }
  table.print(out, format);
}

std::string progress_line(const json& lease) {
  std::string line = text(lease, "state");
  if (const std::string instance = text(lease, "instance"); !instance.empty()) line += " on " + instance;
  std::string models;
  for (const json& model : list(lease, "models"))
    models += cat(models.empty() ? ": " : ", ", text(model, "name"), " ", text(model, "state"));
  return escaped(line + models);
}

}  // namespace atl::ctl
