#include "configs/pbtxt/checks/findings.h"

namespace atl::pbtxt {

void Findings::add(std::string_view field, Status failure) {
  for (const Finding& known : list_) {
    if (known.field == field && known.status.message() == failure.message()) return;
  }
  ++count_;
  if (full()) return;
  bytes_ += field.size() + failure.message().size();
  list_.push_back({std::string(field), source_.find(field), source_.at(field, std::move(failure))});
}

}  // namespace atl::pbtxt
