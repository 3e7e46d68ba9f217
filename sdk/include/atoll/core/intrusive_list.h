/// A queue of objects that are linked through a member of their own: putting one in allocates nothing.
#pragma once

namespace atl {

/// First in, first out. Owns nothing; an object is in at most one list that uses the same member. Not thread
/// safe.
/// \tparam kNext  the member that links; its value means nothing while the object is in no list
template <class T, T* T::*kNext = &T::next>
class IntrusiveList {
 public:
  IntrusiveList() noexcept = default;
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  /// Null if there is none.
  T* front() const noexcept { return first_; }

  void push_back(T& object) noexcept {
    object.*kNext = nullptr;
    if (first_ == nullptr) {
      first_ = &object;
    } else {
      last_->*kNext = &object;
    }
    last_ = &object;
  }
  /// Null if there is none.
  T* pop_front() noexcept {
    T* first = first_;
    if (first != nullptr) first_ = first->*kNext;
    return first;
  }
  /// In linear time. \returns whether it was in the list
  bool remove(const T& object) noexcept {
    T* before = nullptr;
    for (T* one = first_; one != nullptr; before = one, one = one->*kNext) {
      if (one != &object) continue;
      if (before == nullptr) {
        first_ = one->*kNext;
      } else {
        before->*kNext = one->*kNext;
      }
      if (last_ == one) last_ = before;
      return true;
    }
    return false;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;  // of no meaning while it is empty
};

}  // namespace atl
