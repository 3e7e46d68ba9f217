#include "frontends/console/waits/waiting_acts.h"

#include <utility>

#include "atoll/core/registry.h"
#include "atoll/lib/json_writer.h"
#include "atoll/models/model_queues.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/query_parts.h"

namespace atl::frontends::console {
namespace {

/// Reads what both calls have. \returns false: it is not one of these parts
Result<bool> read_target(std::string_view name, std::string& value, WaitingTarget* target) {
  if (name == "model") {
    target->model = std::move(value);
    return true;
  }
  if (name != "version") return false;
  ATOLL_RETURN_IF_ERROR(read_number(name, value, &target->version));
  if (target->version == 0 || target->version > INT64_MAX)
    return invalid_argument("found the version '", value, "', expected that of a model");
  return true;
}

Status check_target(const WaitingTarget& target, std::string_view expected) {
  if (!target.model.empty() && target.version != 0) return {};
  return invalid_argument("found no ", target.model.empty() ? "model" : "version", ", expected ", expected);
}

std::string_view name_of(const HttpExchange& exchange) noexcept {
  return exchange.caller().empty() ? std::string_view("somebody") : exchange.caller();
}

/// The server's queues, for a caller who may act on the model.
Result<Service<ModelQueues>> queues_for(Host& host, const HttpExchange& exchange,
                                        const WaitingTarget& target) {
  if (!may_act_on(exchange.identity(), target.model))
    return not_found("Request for unknown model: '", target.model, "' is not found");
  return host.registry().find<ModelQueues>();
}

}  // namespace

Result<CancelQuery> CancelQuery::parse(std::string_view text) {
  constexpr std::string_view kExpected = "model, version and, to cancel only one level, priority";
  CancelQuery query;
  for (auto& [name, value] : query_parts(text)) {
    const Result<bool> is_read = read_target(name, value, &query.target);
    if (!is_read.ok()) return is_read.status().clone();
    if (is_read.value()) continue;
    if (name != "priority") return invalid_argument("found '", name, "', expected ", kExpected);
    ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.priority));
  }
  ATOLL_RETURN_IF_ERROR(check_target(query.target, kExpected));
  return query;
}

Result<DrainQuery> DrainQuery::parse(std::string_view text) {
  constexpr std::string_view kExpected = "model, version and on=true or on=false";
  DrainQuery query;
  bool has_on = false;
  for (auto& [name, value] : query_parts(text)) {
    const Result<bool> is_read = read_target(name, value, &query.target);
    if (!is_read.ok()) return is_read.status().clone();
    if (is_read.value()) continue;
    if (name != "on" || (value != "true" && value != "false"))
      return invalid_argument("found '", name, "=", value, "', expected ", kExpected);
    query.is_on = value == "true";
    has_on = true;
  }
  if (!has_on) return invalid_argument("found no 'on', expected ", kExpected);
  ATOLL_RETURN_IF_ERROR(check_target(query.target, kExpected));
  return query;
}

void cancel_waiting(Host& host, HttpExchange& exchange, const CancelQuery& query, const ProcessStart& start) {
  const WaitingTarget& target = query.target;
  const Result<Service<ModelQueues>> queues = queues_for(host, exchange, target);
  if (!queues.ok()) return answer_failure(exchange, queues.status());
  const Result<uint64_t> cancelled =
      queues.value()->cancel_waiting(target.model, static_cast<int64_t>(target.version), query.priority);
  if (!cancelled.ok()) return answer_failure(exchange, cancelled.status());
  host.log().info(cancelled.value(), " requests that waited for model '", target.model, "' version ",
                  target.version, " are cancelled, as ", name_of(exchange), " asked");
  answer_json(exchange, 200, object_json([&](CheckedWriter& json) {
                write_member(json, "run", start.run);
                write_member(json, "cancelled", cancelled.value());
              }));
}

void drain_model(Host& host, HttpExchange& exchange, const DrainQuery& query, const ProcessStart& start) {
  const WaitingTarget& target = query.target;
  const Result<Service<ModelQueues>> queues = queues_for(host, exchange, target);
  if (!queues.ok()) return answer_failure(exchange, queues.status());
  const Status done =
      queues.value()->set_draining(target.model, static_cast<int64_t>(target.version), query.is_on);
  if (!done.ok()) return answer_failure(exchange, done);
  host.log().info("model '", target.model, "' version ", target.version,
                  query.is_on ? " takes no new requests" : " takes requests again", ", as ",
                  name_of(exchange), " asked");
  answer_json(exchange, 200, object_json([&](CheckedWriter& json) {
                write_member(json, "run", start.run);
                write_member(json, "draining", query.is_on);
              }));
}

}  // namespace atl::frontends::console
