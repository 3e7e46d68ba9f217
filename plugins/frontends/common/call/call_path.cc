#include "frontends/common/call/call_path.h"

#include <string>

#include "atoll/request/owned_sequence.h"
#include "atoll/request/owner.h"
#include "frontends/common/access/hidden_model.h"

namespace atl::frontends {

bool CallPath::find(const ModelLookup& models, std::string_view name, Result<int64_t> version) noexcept {
  if (!version.ok()) return refuse(version.status());
  catalog_ = &models.catalog;
  wanted_name_ = name;
  wanted_version_ = version.value();
  absence_ = {};
  Result<bool> found = look_up(models, name, version.value());
  if (found.ok() && !found.value()) return false;
  return on_found(std::move(found).status());
}

Result<bool> CallPath::look_up(const ModelLookup& models, std::string_view name, int64_t version) noexcept {
  Result<ModelRef> found = models.router.route(models.catalog, name, version);
  if (found.ok()) {
    context_.model = std::move(found).value();
    return true;
  }
  // Of this moment: another control plugin may take its place while the server runs.
  Result<Service<ModelDemand>> demand = models.registry.find<ModelDemand>();
  if (!demand.ok()) return find_finishing(std::move(found).status());
  wait(Wait::kModel);
  Request& request = context_.request;
  Status waits = (*demand)->await({name, version, request.times.deadline_ns, &request.cancellation}, *this);
  if (waits.ok()) return false;
  waits_for_ = Wait::kNothing;
  return waits;
}

Result<bool> CallPath::find_finishing(Status absence) noexcept {
  context_.model = catalog_->finishing(wanted_name_, wanted_version_, {});
  if (!context_.model) return absence;
  absence_ = std::move(absence);
  return true;
}

void CallPath::on_model(Result<ModelRef> found) noexcept {
  if (found.ok()) context_.model = std::move(found).value();
  end_wait(std::move(found).status());
}

bool CallPath::on_found(Status status) noexcept {
  if (!status.ok()) return refuse(status);
  Result<bool> parsed = steps_.parse_request();
  if (parsed.ok() && !parsed.value()) return false;
  return hand_over(std::move(parsed).status());
}

bool CallPath::hand_over(Status read) noexcept {
  if (read.ok() && (!context_.request.sequence.empty() || !absence_.ok())) read = find_sequence();
  if (read.ok()) read = steps_.read_head();
  if (!context_.regions.owner().empty()) context_.request.call_flags |= kCallerIsKnown;
  if (!read.ok()) return refuse(read);
  if (Status status = context_.submit(); !status.ok()) steps_.refuse(status);
  return true;
}

Status CallPath::find_sequence() noexcept {
  const Request& request = context_.request;
  const bool goes_on = !request.sequence.empty() && (request.sequence_flags & kSequenceStart) == 0;
  if (goes_on) {
    std::string memory;
    const SequenceId wanted = qualified_id(request.sequence, context_.regions.owner(), memory);
    if (context_.model->has_sequence(wanted)) return {};
    if (ModelRef other = catalog_->finishing(wanted_name_, wanted_version_, wanted)) {
      context_.move_to(std::move(other));
      return {};
    }
  }
  return std::move(absence_);
}

bool CallPath::refuse(const Status& status) noexcept {
  context_.abandon();
  steps_.refuse(status);
  return true;
}

bool CallPath::refuse_hidden(std::string_view name, Result<int64_t> version) noexcept {
  return refuse(version.ok() ? unknown_model_status(name) : std::move(version).status());
}

void CallPath::wait(Wait what) noexcept {
  waits_for_ = what;
  steps_.about_to_wait();
}

void CallPath::end_wait(Status status) noexcept {
  ended_ = std::move(status);
  steps_.to_own_thread();
}

bool CallPath::resume() noexcept {
  const Wait ended = std::exchange(waits_for_, Wait::kNothing);
  if (ended == Wait::kMessage) return steps_.find_model(std::move(ended_));
  if (ended == Wait::kModel) return on_found(std::move(ended_));
  return hand_over(std::move(ended_));
}

Task CallPath::reading() noexcept {
  wait(context_.model ? Wait::kBody : Wait::kMessage);
  return {[](void* self) {
            auto& path = *static_cast<CallPath*>(self);
            const bool is_wanted = !path.context_.request.cancellation.cancelled();
            path.end_wait(is_wanted ? path.context_.memory.reason(path.steps_.read_large())
                                    : Status(Code::kCancelled, {}));
          },
          this, nullptr};
}

Result<bool> CallPath::read_elsewhere(LargeWork& work) noexcept {
  Status status = work.try_post(reading());
  if (status.ok()) return false;
  waits_for_ = Wait::kNothing;
  context_.request.retry_after_ms = LargeWork::kRetryAfterMs;
  return status;
}

}  // namespace atl::frontends
