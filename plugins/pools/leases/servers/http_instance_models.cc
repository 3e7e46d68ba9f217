#include "pools/leases/servers/http_instance_models.h"

#include <algorithm>
#include <utility>

#include "atoll/core/utf8.h"
#include "atoll/lib/checked_document.h"
#include "atoll/pools/launcher.h"

namespace atl::pools {
namespace answers {
namespace {

constexpr size_t kTextBytesMax = 1'024;

std::string_view text_of(const CheckedValue& value) { return {value.GetString(), value.GetStringLength()}; }

/// Empty: there is no such text.
std::string_view text_in(const CheckedValue& object, const char* name) {
  const auto member = object.FindMember(name);
  return member == object.MemberEnd() || !member->value.IsString() ? std::string_view()
                                                                   : text_of(member->value);
}

/// Not negative; 0: there is no such number. Bounded, so that sums of a few do not overflow.
int64_t number_in(const CheckedValue& object, const char* name) {
  constexpr uint64_t kMax = uint64_t{1} << 60;
  const auto member = object.FindMember(name);
  if (member == object.MemberEnd() || !member->value.IsUint64()) return 0;
  return static_cast<int64_t>(std::min(member->value.GetUint64(), kMax));
}

int64_t wall_ns(int64_t ms) { return std::min(ms, INT64_MAX / kNsPerMs) * kNsPerMs; }

/// Without recursion, which a text could make deep.
bool parse(CheckedDocument& document, std::string_view text) {
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  return !document.HasParseError();
}

}  // namespace

std::string error_of(const HttpAnswer& answer) {
  CheckedDocument document;
  if (parse(document, answer.body) && document.IsObject()) {
    if (const std::string_view text = text_in(document, "error"); !text.empty())
      return replace_invalid_utf8(text.substr(0, kTextBytesMax));
  }
  const std::string_view line =
      std::string_view(answer.body).substr(0, answer.body.find('\n')).substr(0, kTextBytesMax);
  return line.empty() ? cat("HTTP status ", answer.status) : replace_invalid_utf8(line);
}

namespace {

/// Each version in a repository's index.
template <class See>
Status read_index(std::string_view index, See&& see) {
  CheckedDocument document;
  if (!parse(document, index) || !document.IsArray())
    return internal_error("the repository's index is no JSON array");
  for (const CheckedValue& version : document.GetArray()) {
    if (version.IsObject())
      see(text_in(version, "name"), text_in(version, "state"), text_in(version, "reason"));
  }
  return {};
}

}  // namespace

Result<bool> is_in_use(std::string_view index, std::string_view model) {
  bool is_used = false;
  ATOLL_RETURN_IF_ERROR(read_index(index, [&](std::string_view name, std::string_view state, auto) {
    is_used |= name == model && !state.empty() && state != "UNAVAILABLE";
  }));
  return is_used;
}

Result<ServedModels> served_of(std::string_view index) {
  ServedModels models;
  ATOLL_RETURN_IF_ERROR(
      read_index(index, [&](std::string_view name, std::string_view state, std::string_view reason) {
        if (state == "READY" || state == "LOADING") {
          models.served.emplace(name);
        } else if (!reason.empty()) {
          models.not_served[std::string(name)] = replace_invalid_utf8(reason.substr(0, kTextBytesMax));
        }
      }));
  return models;
}

Result<std::vector<std::string>> backends_of(std::string_view config) {
  CheckedDocument document;
  if (!parse(document, config) || !document.IsObject())
    return internal_error("its configuration is no JSON object");
  if (text_in(document, "platform") == "ensemble" || document.HasMember("ensemble_scheduling"))
    return std::vector<std::string>();
  const std::string_view backend = text_in(document, "backend");
  const std::string_view name = backend.empty() ? text_in(document, "platform") : backend;
  if (name.empty()) return internal_error("its configuration names no backend");
  return std::vector<std::string>{std::string(name)};
}

Result<UseByModel> use_of(std::string_view statistics) {
  CheckedDocument document;
  if (!parse(document, statistics) || !document.IsObject())
    return internal_error("the statistics are no JSON object");
  const auto models = document.FindMember("model_stats");
  if (models == document.MemberEnd() || !models->value.IsArray())
    return internal_error("the statistics have no model_stats");
  UseByModel all;
  for (const CheckedValue& model : models->value.GetArray()) {
    if (!model.IsObject()) continue;
    ModelUse& use = all[std::string(text_in(model, "name"))];
    use.last_wall_ns = std::max(use.last_wall_ns, wall_ns(number_in(model, "last_inference")));
    const auto parts = model.FindMember("inference_stats");
    if (parts == model.MemberEnd() || !parts->value.IsObject()) continue;
    const auto part = [&](const char* name, const char* what) {
      const auto found = parts->value.FindMember(name);
      return found == parts->value.MemberEnd() || !found->value.IsObject() ? 0
                                                                           : number_in(found->value, what);
    };
    use.requests += static_cast<uint64_t>(part("success", "count") + part("fail", "count"));
    use.queue_ns = capped_sum(use.queue_ns, part("queue", "ns"));
    use.compute_ns = capped_sum(use.compute_ns, part("compute_input", "ns") + part("compute_infer", "ns") +
                                                    part("compute_output", "ns"));
  }
  return all;
}

}  // namespace answers

namespace {

Status status_of(Result<HttpAnswer>& answer) {
  if (!answer.ok()) return answer.status().clone();
  if (answer->status >= 200 && answer->status < 300) return {};
  return make_status(Code::kInternal, answers::error_of(*answer));
}

std::string path_of(std::string_view before, const std::string& model, std::string_view behind) {
  return cat(before, percent_encode(model), behind);
}

/// Ends a call with what `read` finds in the body of its answer.
template <class Found>
HttpClient::Done read_by(Result<Found> (*read)(std::string_view), std::function<void(Result<Found>)> done) {
  return [read, done = std::move(done)](Result<HttpAnswer> answer) {
    if (Status status = status_of(answer); !status.ok()) return done(std::move(status));
    done(read(answer->body));
  };
}

}  // namespace

struct HttpInstanceModels::Unload {
  ModelServer server;
  std::string model;
  int64_t give_up_ns = 0;
  Status refused;  ///< what the server said to the call
  Done done;
};

void HttpInstanceModels::call(HttpRequest request, HttpClient::Done done) {
  if (is_stopped_) return;
  client_.call(std::move(request), [this, done = std::move(done)](Result<HttpAnswer> answer) mutable {
    answers_on_.post(make_task(
        [done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); }));
  });
}

HttpRequest HttpInstanceModels::read_call(const ServerAddress& server, std::string_view path,
                                          int64_t timeout_ns) const {
  const std::shared_ptr<const RemoteTls> rules = tls_ == nullptr ? nullptr : tls_->of(server.http);
  if (rules == nullptr) return {.url = cat("http://", server.http.text(), path), .timeout_ns = timeout_ns};
  return {.url = cat("https://", server.http.text(), path),
          .timeout_ns = timeout_ns,
          .ca_text = rules->root_cert,
          .cert_text = rules->client_cert,
          .key_text = rules->client_key,
          .server_name = rules->server_name};
}

HttpRequest HttpInstanceModels::control_call(const ModelServer& server, std::string_view path,
                                             int64_t timeout_ns) const {
  HttpRequest request = read_call(server.address, path, timeout_ns);
  request.method = "POST";
  request.body = "{}";
  if (!server.key.empty()) request.headers = {cat(kServerKeyHeader, ": ", server.key)};
  return request;
}

void HttpInstanceModels::check_ready(const ServerAddress& server, Done done) {
  call(read_call(server, "/v2/health/live", settings_.call_timeout_ns),
       [done = std::move(done)](Result<HttpAnswer> answer) { done(status_of(answer)); });
}

/// By a call that changes nothing.
void HttpInstanceModels::check_closed(const ServerAddress& server, Done done) {
  call(index_of({{}, server, {}}), [done = std::move(done)](Result<HttpAnswer> answer) {
    const bool is_open = answer.ok() && answer->status >= 200 && answer->status < 300;
    done(is_open ? make_status(Code::kFailedPrecondition, "it takes control calls of anybody") : Status());
  });
}

void HttpInstanceModels::check_models(const std::vector<LeaseModel>&, Done done) { done({}); }

void HttpInstanceModels::find_models(const ModelServer& server,
                                     std::function<void(Result<ServedModels>)> done) {
  call(index_of(server), read_by(&answers::served_of, std::move(done)));
}

HttpRequest HttpInstanceModels::index_of(const ModelServer& server) const {
  return control_call(server, "/v2/repository/index", settings_.call_timeout_ns);
}

void HttpInstanceModels::load(const ModelServer& server, const LeaseModel& model, Done done) {
  call(
      control_call(server, path_of("/v2/repository/models/", model.name, "/load"), settings_.load_timeout_ns),
      [done = std::move(done)](Result<HttpAnswer> answer) { done(status_of(answer)); });
}

void HttpInstanceModels::unload(const ModelServer& server, const std::string& model, Done done) {
  auto unload = std::make_shared<Unload>();
  unload->server = server;
  unload->model = model;
  unload->give_up_ns = clock_.now_ns() + settings_.load_timeout_ns;
  unload->done = std::move(done);
  call(control_call(server, path_of("/v2/repository/models/", model, "/unload"), settings_.call_timeout_ns),
       [this, unload](Result<HttpAnswer> answer) {
         if (!answer.ok()) return unload->done(answer.status().clone());
         unload->refused = status_of(answer);
         look_whether_unloaded(unload);
       });
}

/// The call returns when the unloading has begun; and one that is refused may be of a model that is not there.
void HttpInstanceModels::look_whether_unloaded(std::shared_ptr<Unload> unload) {
  call(index_of(unload->server), [this, unload](Result<HttpAnswer> answer) {
    if (Status status = status_of(answer); !status.ok()) return unload->done(std::move(status));
    Result<bool> in_use = answers::is_in_use(answer->body, unload->model);
    if (!in_use.ok()) return unload->done(std::move(in_use).status());
    if (!*in_use) return unload->done({});
    if (!unload->refused.ok()) return unload->done(std::move(unload->refused));
    if (clock_.now_ns() >= unload->give_up_ns) {
      return unload->done(make_status(Code::kDeadlineExceeded, "still UNLOADING after ",
                                      settings_.load_timeout_ns / kNsPerMs, " ms"));
    }
    answers_on_.post_at(clock_.now_ns() + settings_.poll_interval_ns,
                        make_task([this, unload] { look_whether_unloaded(unload); }));
  });
}

void HttpInstanceModels::find_backends(const ServerAddress& server, const std::string& model,
                                       std::function<void(Result<std::vector<std::string>>)> done) {
  call(read_call(server, path_of("/v2/models/", model, "/config"), settings_.call_timeout_ns),
       read_by(&answers::backends_of, std::move(done)));
}

void HttpInstanceModels::read_use(const ServerAddress& server, std::function<void(Result<UseByModel>)> done) {
  call(read_call(server, "/v2/models/stats", settings_.call_timeout_ns),
       read_by(&answers::use_of, std::move(done)));
}

}  // namespace atl::pools
