#include "repositories/s3/store_tasks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "atoll/core/text.h"
#include "repositories/s3/cache_files.h"

namespace atl::s3 {
namespace {

constexpr int kOk = 200;
constexpr int kPartial = 206;
constexpr int kNotFound = 404;
constexpr int kPreconditionFailed = 412;
constexpr int kRangeNotSatisfiable = 416;
constexpr size_t kBodyBytesMax = size_t{1} << 20;

}  // namespace

StoreTask::Step ListingTask::answered(Result<HttpAnswer> answer, Status* failure) {
  if (!answer.ok()) {
    const bool is_too_large = answer.status().code() == Code::kResourceExhausted;
    *failure = unavailable("'", store_.url().text, "': ", answer.status().message());
    return is_too_large ? Step::kFailed : Step::kAgain;
  }
  if (answer->status != kOk) {
    *failure = store_.refusal(answer.value());
    return is_transient(answer->status) ? Step::kAgain : Step::kFailed;
  }
  Result<ListingPage> page = parse_listing_page(answer->body);
  Status status = page.ok() ? Status() : std::move(page).status();
  if (status.ok()) {
    next_ = page->next;
    status = builder_.add(std::move(page).value());
  }
  if (!status.ok()) {
    *failure = unavailable("'", store_.url().text, "': the listing is refused: ", status.message());
    return Step::kFailed;
  }
  return next_.empty() ? Step::kDone : Step::kNext;
}

ObjectTask::ObjectTask(ObjectStore store, std::string path, std::string etag, MissingObject object,
                       std::shared_ptr<std::atomic<uint64_t>> got)
    : store_(std::move(store)),
      path_(std::move(path)),
      etag_(std::move(etag)),
      object_(std::move(object)),
      got_(std::move(got)) {
  struct stat info = {};
  if (::stat(object_.part.c_str(), &info) == 0) written_ = static_cast<uint64_t>(info.st_size);
  if (written_ >= object_.size) written_ = 0;  // nothing is left to ask for, so nothing would confirm it
  got_->fetch_add(written_, std::memory_order_relaxed);
}

HttpRequest ObjectTask::next() {
  HttpRequest request = store_.object_request(path_, etag_, written_);
  asked_from_ = written_;
  takes_body_ = false;
  broken_ = {};
  file_ = FileDescriptor(::open(object_.part.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file_.valid()) broken_ = disk_failure(object_.part);
  request.answer_bytes_max = kBodyBytesMax;
  request.on_head = [this](const HttpAnswer& head) { return begin(head); };
  request.on_body = [this](std::string& bytes) { write(bytes); };
  return request;
}

/// Whether the answer is what was asked for, or says why not.
bool ObjectTask::begin(const HttpAnswer& head) {
  if (head.status != kOk && head.status != kPartial) return true;
  if (!broken_.ok()) return false;
  const std::string& etag = head.headers[0];
  if (!etag.empty() && !etag_.empty() && etag != etag_) {
    is_changed_ = true;
    return false;
  }
  if (head.status == kPartial && !head.headers[1].starts_with(cat("bytes ", written_, "-"))) {
    broken_ = unavailable("the store gives another range than was asked for: '", head.headers[1], "'");
    return false;
  }
  if (head.status == kOk && written_ > 0) {  // all of it, from its beginning
    got_->fetch_sub(written_, std::memory_order_relaxed);
    written_ = 0;
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(written_)) != 0) {
    broken_ = disk_failure(object_.part);
    return false;
  }
  takes_body_ = true;
  return true;
}

void ObjectTask::write(std::string& bytes) {
  if (!takes_body_ || !broken_.ok()) return;
  if (written_ + bytes.size() > object_.size)
    broken_ = unavailable("the store gives more bytes than it listed");
  size_t done = 0;
  while (broken_.ok() && done < bytes.size()) {
    const ssize_t size =
        ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(written_));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      broken_ = disk_failure(object_.part);
      break;
    }
    done += static_cast<size_t>(size);
    written_ += static_cast<uint64_t>(size);
  }
  got_->fetch_add(done, std::memory_order_relaxed);
  // What is left fills the body's limit at once, which ends the call.
  if (broken_.ok()) {
    bytes.clear();
  } else {
    bytes.resize(kBodyBytesMax);
  }
}

StoreTask::Step ObjectTask::fail(Status* failure, Status status) {
  *failure = unavailable("object '", path_, "': ", status.message());
  return Step::kFailed;
}

StoreTask::Step ObjectTask::answered(Result<HttpAnswer> answer, Status* failure) {
  file_ = {};
  if (is_changed_)
    return fail(failure, unavailable("it was changed in the store while it was being downloaded"));
  if (!broken_.ok()) return fail(failure, broken_.clone());
  if (!answer.ok()) {
    *failure = unavailable("object '", path_, "': ", answer.status().message(), " after ", written_, " of ",
                           object_.size, " bytes");
    return Step::kAgain;
  }
  switch (answer->status) {
    case kOk:
    case kPartial:
      if (written_ == object_.size) break;
      *failure = unavailable("object '", path_, "': ended after ", written_, " of ", object_.size, " bytes");
      return Step::kAgain;
    case kPreconditionFailed:
    case kNotFound:
    case kRangeNotSatisfiable:
      is_changed_ = true;
      return fail(failure, unavailable("it was changed in the store while it was being downloaded"));
    default:
      fail(failure, store_.refusal(answer.value()));
      return is_transient(answer->status) ? Step::kAgain : Step::kFailed;
  }
  Status status = ObjectCache::complete(object_);
  return status.ok() ? Step::kDone : fail(failure, std::move(status));
}

}  // namespace atl::s3
