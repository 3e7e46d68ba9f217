#include "frontends/console/answer_json.h"

#include <iterator>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/console/process_facts.h"
#include "frontends/console/query_parts.h"

namespace atl::frontends::console {
namespace {

constexpr uint64_t kMostModels = 1000;
constexpr uint64_t kMostEnsembles = 1000;

std::string_view state_of(const ModelIndexEntry& entry) noexcept {
  return entry.state.empty() ? std::string_view("NOT LOADED") : std::string_view(entry.state);
}

void write_duration(CheckedWriter& json, std::string_view name, const StatisticDuration& one) {
  write_object(json, name, [&] {
    write_member(json, "count", one.count);
    write_member(json, "ns", one.ns);
  });
}

void write_requests(CheckedWriter& json, const ModelSums& sums) {
  write_duration(json, "success", sums.success);
  write_duration(json, "fail", sums.fail);
  write_duration(json, "queue", sums.queue);
  write_duration(json, "compute_input", sums.compute_input);
  write_duration(json, "compute_infer", sums.compute_infer);
  write_duration(json, "compute_output", sums.compute_output);
  write_object(json, "failures", [&] {
    constexpr std::string_view kReasons[] = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};
    for (size_t i = 0; i < std::size(kReasons); ++i) write_member(json, kReasons[i], sums.failures[i]);
  });
  write_member(json, "inferences", sums.inferences);
  write_member(json, "executions", sums.executions);
  write_member(json, "pending", sums.pending);
}

/// Names of models come from outside: whatever a browser makes of one, nothing but the page's own files runs, and
/// nothing is loaded from elsewhere.
constexpr HttpHeader kSafety[] = {
    {"content-security-policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"x-content-type-options", "nosniff"},
    {"x-frame-options", "DENY"},
    {"referrer-policy", "no-referrer"},
    {"cross-origin-opener-policy", "same-origin"},
    {"cross-origin-resource-policy", "same-origin"}};

}  // namespace

std::vector<HttpHeader> headers_with(std::initializer_list<HttpHeader> others) {
  std::vector<HttpHeader> all(std::begin(kSafety), std::end(kSafety));
  all.insert(all.end(), others);
  return all;
}

void answer_json(HttpExchange& exchange, int status, std::string body) {
  const std::vector<HttpHeader> headers = headers_with({{"cache-control", "no-store"}});
  exchange.answer({.status = status, .content_type = "application/json", .headers = headers},
                  std::move(body));
}

void answer_failure(HttpExchange& exchange, const Status& status) {
  const int code = status.code() == Code::kInvalidArgument    ? 400
                   : status.code() == Code::kPermissionDenied ? 403
                   : status.code() == Code::kNotFound         ? 404
                   : status.code() == Code::kUnimplemented    ? 501
                   : status.code() == Code::kUnavailable      ? 503
                                                              : 500;
  answer_json(exchange, code, error_json(status.message()));
}

Result<ModelsQuery> ModelsQuery::parse(std::string_view text) {
  ModelsQuery query;
  for (auto& [name, value] : query_parts(text)) {
    if (name == "search") {
      query.search = std::move(value);
    } else if (name == "state") {
      query.state = std::move(value);
    } else if (name == "offset") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.offset));
    } else if (name == "limit") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.limit));
    } else {
      return invalid_argument("found '", name, "', expected search, state, offset or limit");
    }
  }
  if (query.limit > kMostModels) return invalid_argument("the limit may be at most ", kMostModels);
  return query;
}

std::string overview_json(const CatalogLook& look, const ServerFacts& server) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "version", server.version);
    write_member(json, "run", server.start.run);
    write_member(json, "started_ms", server.start.time_ms);
    write_member(json, "control", server.control);
    write_member(json, "time_ms", look.wall_ms);
    write_member(json, "took_ns", look.took_ns);
    write_member(json, "cpu_seconds", cpu_seconds());
    write_member(json, "resident_bytes", resident_bytes());
    write_object(json, "models", [&] {
      for (const auto& [state, count] : look.states) write_member(json, state, count);
    });
    write_object(json, "requests", [&] { write_requests(json, look.sums); });
    // Pairs of a bound and a count, of the buckets that have any.
    write_key(json, "latency_buckets");
    json.StartArray();
    for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
      if (look.sums.total.counts[i] == 0) continue;
      const bool is_last = i + 1 == LatencyHistogram::kBuckets;
      json.StartArray();
      json.Uint64(LatencyHistogram::upper_bound_ns(is_last ? i - 1 : i));
      json.Uint64(look.sums.total.counts[i]);
      json.EndArray();
    }
    json.EndArray();
  });
}

std::string models_json(const CatalogLook& look, const ModelsQuery& query, const ServerFacts& server,
                        const Identity* identity) {
  const auto may_control = [&](const ModelIndexEntry& entry) {
    constexpr ApiCategory kRepository = ApiCategory::kModelRepository;
    return server.may_act && server.control == "explicit" &&
           (identity == nullptr || identity->may(kRepository, api_category_name(kRepository), entry.name));
  };
  std::vector<const ModelIndexEntry*> page;
  uint64_t matching = 0;
  for (const ModelIndexEntry& entry : look.entries) {
    if (!query.state.empty() && state_of(entry) != query.state) continue;
    if (!contains_text(entry.name, query.search)) continue;
    if (!may_see(identity, entry.name)) continue;
    if (matching >= query.offset && page.size() < query.limit) page.push_back(&entry);
    ++matching;
  }
  return object_json([&](CheckedWriter& json) {
    write_member(json, "time_ms", look.wall_ms);
    write_member(json, "matching", matching);
    write_member(json, "offset", query.offset);
    write_array(json, "models", page, [&](const ModelIndexEntry* entry) {
      write_object(json, [&] {
        write_member(json, "name", entry->name);
        write_member(json, "version", entry->version);
        write_member(json, "state", state_of(*entry));
        write_member(json, "reason", entry->reason);
        write_member(json, "may_control", may_control(*entry));
      });
    });
  });
}

std::string ensembles_json(const CatalogLook& look, const std::vector<ModelName>& ensembles,
                           const Identity* identity) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "time_ms", look.wall_ms);
    uint64_t matching = 0;
    write_key(json, "ensembles");
    json.StartArray();
    for (const ModelName& one : ensembles) {
      if (!may_see(identity, one.name)) continue;
      if (++matching > kMostEnsembles) continue;
      write_object(json, [&] {
        write_member(json, "name", one.name);
        write_member(json, "version", one.version);
      });
    }
    json.EndArray();
    write_member(json, "matching", matching);
  });
}

std::string caller_json(const ServerFacts& server, const Identity* identity) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "name", identity == nullptr ? std::string_view() : identity->name());
    write_member(json, "tenant", identity == nullptr ? std::string_view() : identity->tenant());
    write_member(json, "may_act", server.may_act);
    write_member(
        json, "may_apply",
        server.may_act && (identity == nullptr || identity->may_all(ApiCategory::kOther, kActCategory)));
  });
}

std::string error_json(std::string_view text) {
  return object_json([&](CheckedWriter& json) { write_member(json, "error", text); });
}

}  // namespace atl::frontends::console
