/// Admission that does what a test says: each instance has a door, open or closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/request/execution_admission.h"

namespace atl::test {

/// Thread safe. Instances are known by the order in which they were added.
class FakeAdmission final : public ExecutionAdmission {
 public:
  struct Counts {
    uint64_t asked = 0;                 ///< ask() and ask_again()
    uint64_t insisted = 0;              ///< admitted through a closed door
    uint64_t executed = 0, unused = 0;  ///< ends
  };

  virtual ~FakeAdmission() = default;
  Result<std::unique_ptr<AdmittedInstance>> add_instance(const ExecutionDemand& demand) noexcept override {
    std::scoped_lock lock(mutex_);
    if (demand.instance == refused_ && !refused_.empty())
      return invalid_argument("refused ", demand.instance);
    demands_.push_back(demand);
    doors_.push_back(std::make_unique<Door>());
    doors_.back()->open = open_;
    ++live_;
    return std::unique_ptr<AdmittedInstance>(new Instance(*this, *doors_.back(), !demand.resources.empty()));
  }

  /// What add_instance() refuses.
  void refuse(std::string instance) { refused_ = std::move(instance); }
  /// Doors of instances that are added from now on.
  void begin_closed() { open_ = false; }
  /// Of instances that are added from now on: they follow their queue, and grant such batches.
  void follow_queues(ExecutionGrant grant) {
    follows_ = true;
    grant_ = grant;
  }
  void grant(ExecutionGrant grant) { grant_ = grant; }
  /// What they were told: "arrived 1", "left 0", "begins 2, 3 wait".
  std::vector<std::string> told() const {
    std::scoped_lock lock(mutex_);
    return told_;
  }
  void close(size_t index) {
    std::scoped_lock lock(mutex_);
    doors_[index]->open = false;
  }
  /// Tells the instance if it waits.
  void open(size_t index) {
    Door* told = nullptr;
    {
      std::scoped_lock lock(mutex_);
      doors_[index]->open = true;
      told = admit(*doors_[index]);
    }
    notify(told);
  }
  /// If it waits it is told; the door stays closed. \returns whether it has waited
  bool admit_once(size_t index) {
    Door* told = nullptr;
    {
      std::scoped_lock lock(mutex_);
      told = admit(*doors_[index]);
    }
    notify(told);
    return told != nullptr;
  }
  bool waits(size_t index) const {
    std::scoped_lock lock(mutex_);
    return doors_[index]->waits;
  }
  bool is_admitted(size_t index) const {
    std::scoped_lock lock(mutex_);
    return doors_[index]->admitted;
  }
  Counts counts() const {
    std::scoped_lock lock(mutex_);
    return counts_;
  }
  std::vector<ExecutionDemand> demands() const {
    std::scoped_lock lock(mutex_);
    return demands_;
  }
  uint64_t live() const {
    std::scoped_lock lock(mutex_);
    return live_;
  }
  /// What broke the rules of the interface.
  std::vector<std::string> problems() const {
    std::scoped_lock lock(mutex_);
    return problems_;
  }

 private:
  struct Door {
    bool open = true, waits = false, admitted = false;
    std::atomic<bool> telling{false};
    AdmissionListener* listener = nullptr;
    void* context = nullptr;
    uint64_t executed = 0;
  };

  class Instance final : public AdmittedInstance {
   public:
    Instance(FakeAdmission& owner, Door& door, bool holds) : owner_(owner), door_(door), holds_(holds) {}
    ~Instance() override {
      await_told();
      std::scoped_lock lock(owner_.mutex_);
      if (door_.waits) owner_.problems_.push_back("an instance that waits was destroyed");
      door_.admitted = false;
      --owner_.live_;
    }
    bool holds_resources() const noexcept override { return holds_; }
    bool ask(AdmissionListener& listener, void* context, bool insists) noexcept override {
      std::scoped_lock lock(owner_.mutex_);
      return ask_now(listener, context, insists);
    }
    bool ask_again(AdmissionListener& listener, void* context, bool insists) noexcept override {
      std::scoped_lock lock(owner_.mutex_);
      end_now(true);
      return ask_now(listener, context, insists);
    }
    void end(bool executed) noexcept override {
      std::scoped_lock lock(owner_.mutex_);
      end_now(executed);
    }
    bool withdraw() noexcept override {
      bool waited = false;
      {
        std::scoped_lock lock(owner_.mutex_);
        waited = std::exchange(door_.waits, false);
      }
      await_told();
      return waited;
    }
    void insist() noexcept override {
      Door* told = nullptr;
      {
        std::scoped_lock lock(owner_.mutex_);
        told = owner_.admit(door_);
        owner_.counts_.insisted += told != nullptr;
      }
      notify(told);
    }
    uint64_t turn() const noexcept override {
      std::scoped_lock lock(owner_.mutex_);
      return door_.executed;
    }
    bool follows_queue() const noexcept override { return follows_; }
    void arrived(const WaitingRequest& request) noexcept override { note(cat("arrived ", request.weight)); }
    void left(uint64_t weight) noexcept override { note(cat("left ", weight)); }
    ExecutionGrant grant() noexcept override { return owner_.grant_; }
    void begins(uint32_t size, uint64_t weight) noexcept override {
      note(cat("begins ", size, ", ", weight, " wait"));
    }
    /// One copy of the resource "door", which is in use.
    std::vector<AdmissionShortage> shortages() const noexcept override {
      std::vector<AdmissionShortage> found;
      std::scoped_lock lock(owner_.mutex_);
      if (door_.waits) found.push_back({"door", true, 0, 1, 1, 0, 1});
      return found;
    }

   private:
    void note(std::string what) noexcept {
      std::scoped_lock lock(owner_.mutex_);
      if (!follows_) owner_.problems_.push_back(cat("told though it does not follow its queue: ", what));
      owner_.told_.push_back(std::move(what));
    }
    void await_told() const noexcept {
      while (door_.telling) std::this_thread::yield();
    }
    bool ask_now(AdmissionListener& listener, void* context, bool insists) {
      if (door_.waits || door_.admitted) owner_.problems_.push_back("asked by one that waits or is admitted");
      ++owner_.counts_.asked;
      owner_.counts_.insisted += insists && !door_.open;
      door_.listener = &listener;
      door_.context = context;
      door_.admitted = door_.open || insists;
      door_.waits = !door_.admitted;
      return door_.admitted;
    }
    void end_now(bool executed) {
      if (!std::exchange(door_.admitted, false))
        owner_.problems_.push_back("ended by one that is not admitted");
      door_.executed += executed;
      ++(executed ? owner_.counts_.executed : owner_.counts_.unused);
    }

    FakeAdmission& owner_;
    Door& door_;
    const bool holds_;
    const bool follows_ = owner_.follows_;
  };

  /// \returns who is to be told, or null
  static Door* admit(Door& door) {
    if (!std::exchange(door.waits, false)) return nullptr;
    door.admitted = true;
    door.telling = true;
    return &door;
  }
  static void notify(Door* door) {
    if (door == nullptr) return;
    door->listener->admitted(door->context);
    door->telling = false;
  }

  mutable std::mutex mutex_;
  bool open_ = true, follows_ = false;
  ExecutionGrant grant_;
  std::vector<std::string> told_;
  std::string refused_;
  std::vector<ExecutionDemand> demands_;
  std::vector<std::unique_ptr<Door>> doors_;
  Counts counts_;
  uint64_t live_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace atl::test
