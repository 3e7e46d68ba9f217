/// A queue of objects that are linked through a member of their own, so that putting an object in
/// allocates nothing.
///
///     struct Waiting {
///       Request* request;
///       Waiting* next = nullptr;
///     };
///     IntrusiveList<Waiting> waiting;
///     waiting.push_back(one);
///     while (Waiting* first = waiting.pop_front()) run(first->request);
#pragma once

namespace atl {

/// First in, first out. The list owns nothing: an object stays its owner's, and must live, at the
/// same address, while it is in the list. An object is in at most one list that uses the same
/// member; with two members it may be in two lists. The list has no lock; the caller's lock covers
/// it.
/// \tparam T  the objects' type
/// \tparam kNext  the member that links; its value means nothing while the object is in no list
template <class T, T* T::*kNext = &T::next>
class IntrusiveList {
 public:
  /// An empty list. It cannot be copied, because an object has one link. A list that ends leaves
  /// the objects in it as they are.
  IntrusiveList() noexcept = default;
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  /// Whether no object is in the list. In constant time, as all functions but remove().
  bool empty() const noexcept { return first_ == nullptr; }
  /// The object that was put in first, which stays in the list. Null if the list is empty.
  T* front() const noexcept { return first_; }

  /// Puts an object, which is in no list, behind all others. In constant time.
  void push_back(T& object) noexcept {
    object.*kNext = nullptr;
    if (first_ == nullptr) {
      first_ = &object;
    } else {
      last_->*kNext = &object;
    }
    last_ = &object;
  }
  /// Takes out the object that was put in first. Null if the list is empty. The object may be put
  /// into a list again at once.
  T* pop_front() noexcept {
    T* first = first_;
    if (first != nullptr) first_ = first->*kNext;
    return first;
  }
  /// Takes one object out of the middle. This walks through the list, in linear time, so it is for
  /// what is rare, such as a cancellation.
  /// \returns whether the object was in the list
  bool remove(const T& object) noexcept {
    T* before = nullptr;
    for (T* one = first_; one != nullptr; before = one, one = one->*kNext) {
      if (one != &object) continue;
      if (before == nullptr) {
        first_ = one->*kNext;
      } else {
        before->*kNext = one->*kNext;
      }
      // The list's end moves, if the last object is taken out.
      if (last_ == one) last_ = before;
      return true;
    }
    return false;
  }

 private:
  /// The object that is taken out next.
  T* first_ = nullptr;
  /// The object that was put in last; of no meaning while the list is empty.
  T* last_ = nullptr;
};

}  // namespace atl
