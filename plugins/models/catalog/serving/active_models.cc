#include "models/catalog/serving/active_models.h"

#include "models/catalog/serving/served_model.h"

namespace atl::models {

void ActiveModels::add(ServedModel& model) noexcept {
  std::lock_guard lock(mutex_);
  ServedModel::Activity& activity = model.activity();
  if (!activity.is_listed) {
    activity.is_listed = true;
    activity.next = first_;
    first_ = &model;
  }
  activity.is_seen.store(true);
}

void ActiveModels::remove(ServedModel& model) noexcept {
  std::lock_guard lock(mutex_);
  if (!model.activity().is_listed) return;
  ServedModel** place = &first_;
  while (*place != &model) place = &(*place)->activity().next;
  *place = model.activity().next;
  model.activity().is_listed = false;
}

RequestsNow ActiveModels::count(ReaderShards& shards) noexcept {
  std::lock_guard lock(mutex_);
  RequestsNow sum;
  bool any_idle = false;
  for (ServedModel* model = first_; model != nullptr; model = model->activity().next) {
    // A request that comes from here on enters its model anew, or is seen by its reference below.
    model->activity().is_seen.store(false);
    const RequestsNow of_model = model->requests_now();
    sum.waiting += of_model.waiting;
    sum.running += of_model.running;
    model->activity().is_idle = of_model.waiting == 0 && of_model.running == 0;
    any_idle |= model->activity().is_idle;
    if (!model->activity().is_idle) model->activity().is_seen.store(true);
  }
  if (!any_idle) return sum;
  ReaderShards::Write write(shards);
  for (ServedModel** place = &first_; *place != nullptr;) {
    ServedModel::Activity& activity = (*place)->activity();
    if (activity.is_idle && (*place)->references(write) == 0) {
      activity.is_listed = false;
      *place = activity.next;
    } else {
      activity.is_seen.store(true);
      place = &activity.next;
    }
  }
  return sum;
}

}  // namespace atl::models
