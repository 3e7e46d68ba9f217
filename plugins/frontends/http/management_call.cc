#include "frontends/http/management_call.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/json/index_json.h"
#include "frontends/http/call_support.h"
#include "frontends/http/management/repository_json.h"
#include "frontends/http/management_endpoints.h"

namespace atl::frontends::http {
namespace {

/// Bodies of loads up to this size are read where they came in.
constexpr size_t kSmallBody = size_t{64} << 10;
/// Of calls that do not bring files. They are read where they came in.
constexpr size_t kLargestBody = size_t{1} << 20;
/// What a load takes in all, in sizes of its body: the text, parsing it, the files in it.
constexpr uint64_t kLoadGrowth = 4;

}  // namespace

void ManagementCall::run(Channel& channel) noexcept {
  channel_ = &channel;
  if (!is_health(route_.endpoint)) {
    pass_ = context_.frontend.calls.enter();
    if (!pass_) {
      answer(unavailable(frontends::messages::kServerExiting), {});
      return;
    }
  }
  caller_ = channel.head().identity;
  BodyBuffer body = channel.take_body();
  charge_ = channel.take_charge();
  if (route_.endpoint != Endpoint::kRepositoryLoad && body.size() > kLargestBody) {
    Status refusal = invalid_argument("the body of this call has ", body.size(), " bytes, at most ",
                                      kLargestBody, " are allowed");
    context_.buffers.give(std::move(body));
    answer(std::move(refusal), {});
    return;
  }
  if (route_.endpoint == Endpoint::kRepositoryLoad && body.size() > kSmallBody) {
    if (Status status = charge_.cover(kLoadGrowth * body.size()); !status.ok()) {
      context_.buffers.give(std::move(body));
      answer(std::move(status), {});
      return;
    }
    // It brings files: reading them takes longer than others should wait.
    context_.frontend.server.worker->post(
        make_task([this, read = std::move(body), model = std::string(route_.model),
                   repository = std::string(route_.repository)] { load(read.text(), model, repository); }));
    return;
  }
  if (answers_later(route_.endpoint)) {
    // After success the call may be over and this object gone.
    ThreadContext& context = context_;
    Status status = begin(body.text());
    context.buffers.give(std::move(body));
    if (!status.ok()) answer(std::move(status), {});
    return;
  }
  Result<std::string> json = answer_management(context_.frontend.server, identity_of(caller_), route_,
                                               channel.head().method, body.text());
  context_.buffers.give(std::move(body));
  if (json.ok()) {
    answer(Status(), std::move(json).value());
  } else {
    answer(std::move(json).status(), {});
  }
}

Status ManagementCall::begin(std::string_view body) noexcept {
  ServerAccess& server = context_.frontend.server;
  Finish on_end = [this](Status status) { finish(std::move(status)); };
  if (route_.endpoint == Endpoint::kRepositoryIndex) {
    inference::RepositoryIndexRequest request;
    ATOLL_RETURN_IF_ERROR(read_index_request(body, &request));
    repository_index(server, identity_of(caller_), request, &index_, std::move(on_end));
  } else if (route_.endpoint == Endpoint::kRepositoryLoad) {
    load(body, route_.model, route_.repository);
  } else {
    inference::RepositoryModelUnloadRequest request;
    if (route_.repository.empty()) ATOLL_RETURN_IF_ERROR(read_unload_request(body, &request));
    request.set_repository_name(std::string(route_.repository));
    request.set_model_name(std::string(route_.model));
    repository_unload(server, identity_of(caller_), request, std::move(on_end));
  }
  return {};
}

void ManagementCall::load(std::string_view body, std::string_view model,
                          std::string_view repository) noexcept {
  inference::RepositoryModelLoadRequest request;
  if (repository.empty()) {
    if (Status status = read_load_request(body, &request); !status.ok()) return finish(std::move(status));
  }
  request.set_repository_name(std::string(repository));
  request.set_model_name(std::string(model));
  repository_load(context_.frontend.server, identity_of(caller_), request,
                  [this](Status status) { finish(std::move(status)); });
}

void ManagementCall::finish(Status status) noexcept {
  status_ = std::move(status);
  if (context_.is_current()) {
    on_posted();
  } else {
    context_.post(*this);
  }
}

void ManagementCall::answer(Status status, std::string json) noexcept {
  if (channel_ == nullptr) {
    delete this;
    return;
  }
  answered_ = true;
  if (!status.ok()) {
    if (status.message().empty()) {
      channel_->answer_text({.http_status = http_status(status.code())}, {});
    } else {
      const bool is_over = !charge_.refused().ok();
      answer_error(*channel_, status, is_over ? RequestCharge::kRetryAfterMs : 0);
    }
    return;
  }
  if (route_.endpoint == Endpoint::kRepositoryIndex) json = index_json(index_);
  ReplyHead head;
  if (!json.empty()) head.content_type = kJsonType;
  channel_->answer_text(head, std::move(json));
}

void ManagementCall::on_written() noexcept { delete this; }

void ManagementCall::on_gone() noexcept {
  channel_ = nullptr;
  if (answered_) delete this;
}

}  // namespace atl::frontends::http
