#include "frontends/common/http/server_thread.h"

namespace atl::frontends::http {

thread_local const ServerThread* ServerThread::current_ = nullptr;

ServerThread::~ServerThread() = default;

}  // namespace atl::frontends::http
