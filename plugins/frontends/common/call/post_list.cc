#include "frontends/common/call/post_list.h"

namespace atl::frontends {

void PostList::run_posted() noexcept {
  Posted* newest = posted_.exchange(nullptr, std::memory_order_acq_rel);
  Posted* oldest = nullptr;
  while (newest != nullptr) {
    Posted* next = newest->next_posted;
    newest->next_posted = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    Posted* item = oldest;
    oldest = item->next_posted;
    item->on_posted();
  }
}

}  // namespace atl::frontends
