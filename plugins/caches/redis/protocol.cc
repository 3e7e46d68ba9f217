#include "caches/redis/protocol.h"

#include <hiredis/hiredis.h>

#include <new>
#include <vector>

#include "atoll/core/text.h"

namespace atl::caches {
namespace {

RedisReply& reply_of(const redisReadTask* task) noexcept { return *static_cast<RedisReply*>(task->privdata); }

void* take_text(const redisReadTask* task, char* text, size_t size) noexcept try {
  RedisReply& reply = reply_of(task);
  reply.kind = task->type == REDIS_REPLY_STATUS  ? RedisReply::Kind::kStatus
               : task->type == REDIS_REPLY_ERROR ? RedisReply::Kind::kError
                                                 : RedisReply::Kind::kText;
  reply.text.assign(text, size);
  return &reply;
} catch (const std::bad_alloc&) {
  return nullptr;
}

/// hiredis would make room for as many elements as the server says.
void* refuse_array(const redisReadTask*, int) noexcept { return nullptr; }

void* take_integer(const redisReadTask* task, long long) noexcept {
  reply_of(task).kind = RedisReply::Kind::kInteger;
  return &reply_of(task);
}

void* take_nil(const redisReadTask* task) noexcept {
  reply_of(task).kind = RedisReply::Kind::kNil;
  return &reply_of(task);
}

void keep(void*) noexcept {}

redisReplyObjectFunctions functions = {take_text, refuse_array, take_integer, take_nil, keep};

}  // namespace

RedisCommand::RedisCommand(std::initializer_list<std::string_view> words) {
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  const int size = redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), texts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  bytes_.reset(bytes);
  size_ = static_cast<size_t>(size);
}

ReplyReader::ReplyReader(uint64_t reply_bytes_max)
    : reply_bytes_max_(reply_bytes_max), reader_(redisReaderCreateWithFunctions(&functions)) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = &reply_;
}

Status ReplyReader::add(std::string_view bytes) {
  if (reader_->len - reader_->pos + bytes.size() > reply_bytes_max_) {
    return invalid_argument("a reply of more than ", reply_bytes_max_, " bytes");
  }
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK) return {};
  return invalid_argument(reader_->errstr);
}

Result<bool> ReplyReader::next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) == REDIS_OK) return reply != nullptr;
  if (reader_->err == REDIS_ERR_OOM) return invalid_argument("a reply that none of the commands has");
  return invalid_argument(reader_->errstr);
}

}  // namespace atl::caches
