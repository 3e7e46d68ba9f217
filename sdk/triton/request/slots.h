/// A list whose items keep their memory when they are removed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace atl::triton {

/// Items have clear(), after which one is as a new one. Not thread safe.
template <class Item>
class Slots {
 public:
  /// A cleared item at the end. References to others do not hold.
  Item& add() {
    if (used_ == items_.size()) items_.emplace_back();
    return items_[used_++];
  }
  void remove(Item& item) noexcept {
    item.clear();
    const auto at = items_.begin() + (&item - items_.data());
    std::rotate(at, at + 1, items_.begin() + static_cast<std::ptrdiff_t>(used_));
    --used_;
  }
  void clear() noexcept {
    for (size_t i = 0; i < used_; ++i) items_[i].clear();
    used_ = 0;
  }
  bool empty() const noexcept { return used_ == 0; }
  Item* begin() noexcept { return items_.data(); }
  Item* end() noexcept { return items_.data() + used_; }
  const Item* begin() const noexcept { return items_.data(); }
  const Item* end() const noexcept { return items_.data() + used_; }

 private:
  std::vector<Item> items_;
  size_t used_ = 0;
};

}  // namespace atl::triton
