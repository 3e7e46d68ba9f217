#include "atoll/triton/lent_message.h"

#include <exception>
#include <memory>

#include "message.h"

namespace atl::triton {

LentMessage::~LentMessage() { delete message_.load(std::memory_order_acquire); }

TRITONSERVER_Message* LentMessage::of(const std::string& json) noexcept {
  TRITONSERVER_Message* message = message_.load(std::memory_order_acquire);
  if (message != nullptr) return message;
  try {
    auto made = std::make_unique<TRITONSERVER_Message>(TRITONSERVER_Message{json, true});
    if (message_.compare_exchange_strong(message, made.get(), std::memory_order_acq_rel))
      return made.release();
    return message;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace atl::triton
