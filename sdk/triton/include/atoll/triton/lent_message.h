/// A message that foreign code only borrows.
#pragma once

#include <atomic>
#include <string>

#include "triton/core/tritonserver.h"

namespace atl::triton {

/// Makes the message when it is first asked for, and keeps it. [any]
class LentMessage {
 public:
  LentMessage() noexcept = default;
  LentMessage(const LentMessage&) = delete;
  LentMessage& operator=(const LentMessage&) = delete;
  ~LentMessage();

  /// \param json  the same every time. Null: there is no memory
  TRITONSERVER_Message* of(const std::string& json) noexcept;

 private:
  std::atomic<TRITONSERVER_Message*> message_{nullptr};
};

}  // namespace atl::triton
