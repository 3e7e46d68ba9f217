#include "floor_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace bench {

namespace {
constexpr size_t kMostPieces = 512;
/// With less room than this a fresh chunk is taken: a receive should bring much.
constexpr size_t kLeastRoom = 64U << 10;
}  // namespace

Piece copied(const std::vector<Piece>& pieces) {
  // Chunks that come and go with each message would cost more than the copy: a few are kept.
  static std::vector<ChunkPtr> kept;
  ChunkPtr chunk;
  for (const ChunkPtr& candidate : kept)
    if (candidate.use_count() == 1) chunk = candidate;
  if (!chunk) chunk = kept.emplace_back(std::make_shared<Chunk>());
  size_t size = 0;
  for (const Piece& piece : pieces) {
    const size_t fits = std::min(piece.bytes.size(), kChunkBytes - size);
    std::memcpy(chunk->data.get() + size, piece.bytes.data(), fits);
    size += fits;
  }
  return {{chunk->data.get(), size}, chunk};
}

FloorConnection::~FloorConnection() { close(socket_); }

void FloorConnection::write_small(std::string_view bytes) {
  const std::string& kept = small_.emplace_back(bytes);
  write({kept, {}});
}

void FloorConnection::make_room() {
  if (begin_ == end_ && chunk_.use_count() == 2) begin_ = end_ = 0;  // the connection's own two
  if (kChunkBytes - end_ >= kLeastRoom) return;
  ChunkPtr next;
  for (const ChunkPtr& candidate : kept_)
    if (candidate.use_count() == 1) next = candidate;
  if (!next) next = kept_.emplace_back(std::make_shared<Chunk>());
  std::memcpy(next->data.get(), chunk_->data.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  chunk_ = std::move(next);
}

bool FloorConnection::on_readable() {
  while (true) {
    make_room();
    const size_t room = kChunkBytes - end_;
    const ssize_t got = recv(socket_, chunk_->data.get() + end_, room, 0);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    end_ += static_cast<size_t>(got);
    bool good = true;
    begin_ += take({chunk_->data.get() + begin_, end_ - begin_}, good);
    if (!good || !on_writable()) return false;
    if (static_cast<size_t>(got) < room) return true;  // nothing more is at hand
  }
}

bool FloorConnection::on_writable() {
  while (!waiting_.empty()) {
    std::array<iovec, kMostPieces> vectors;
    size_t count = 0;
    for (; count < std::min(kMostPieces, waiting_.size()); ++count) {
      const std::string_view bytes = waiting_[count].bytes;
      vectors[count] = {const_cast<char*>(bytes.data()), bytes.size()};
    }
    const ssize_t wrote = writev(socket_, vectors.data(), static_cast<int>(count));
    if (wrote < 0) return errno == EAGAIN || errno == EINTR;
    size_t left = static_cast<size_t>(wrote);
    while (!waiting_.empty() && left >= waiting_.front().bytes.size()) {
      left -= waiting_.front().bytes.size();
      waiting_.pop_front();
    }
    if (left > 0) waiting_.front().bytes.remove_prefix(left);
  }
  small_.clear();
  return true;
}

}  // namespace bench
