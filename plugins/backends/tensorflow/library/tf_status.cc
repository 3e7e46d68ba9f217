#include "backends/tensorflow/library/tf_status.h"

#include <string_view>

namespace atl::tensorflow {
namespace {

constexpr size_t kTextBytesMax = 1000;
constexpr int kLastCode = 16;

}  // namespace

Status TfStatus::status() const noexcept {
  const int code = tf().TF_GetCode(status_.get());
  if (code == 0) return {};
  const char* const message = tf().TF_Message(status_.get());
  std::string_view text = message == nullptr ? "" : message;
  // What follows lists the nodes on the way, or a stack.
  text = text.substr(0, text.find('\n')).substr(0, kTextBytesMax);
  const Code known = code > 0 && code <= kLastCode ? static_cast<Code>(code) : Code::kUnknown;
  return make_status(known, text.empty() ? "TensorFlow says no more" : text);
}

void TfRelease::operator()(TF_Session* session) const noexcept {
  TfStatus ignored;
  tf().TF_CloseSession(session, ignored);
  tf().TF_DeleteSession(session, ignored);
}

}  // namespace atl::tensorflow
