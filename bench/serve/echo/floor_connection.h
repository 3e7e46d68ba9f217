/// What a server that echoes large bodies cannot do without: it receives into memory that it keeps, and writes
/// from there. One connection of such a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

constexpr size_t kChunkBytes = 2U << 20;

/// Memory that is received into. Held by whoever still has to write something that lies in it.
struct Chunk {
  std::unique_ptr<char[]> data = std::make_unique_for_overwrite<char[]>(kChunkBytes);
};
using ChunkPtr = std::shared_ptr<Chunk>;

/// Bytes to write, with what keeps them there: a chunk, or nothing for what lives as long as the program.
struct Piece {
  std::string_view bytes;
  ChunkPtr chunk;
};

/// A message's copy in memory of its own, as a model makes one whose output is not its input.
Piece copied(const std::vector<Piece>& pieces);

/// A socket with chunks to receive into. The protocols derive from it.
class FloorConnection {
 public:
  /// \param copies whether each message is copied once before it is sent back
  FloorConnection(int socket, bool copies) : copies_(copies), socket_(socket) {}
  virtual ~FloorConnection();
  FloorConnection(const FloorConnection&) = delete;
  FloorConnection& operator=(const FloorConnection&) = delete;

  /// Reads and answers until nothing is at hand. \returns false: the connection is over
  bool on_readable();
  /// Writes what is waiting. \returns false: the connection is over
  bool on_writable();
  bool wants_to_write() const { return !waiting_.empty(); }

 protected:
  /// Takes what it can use of the bytes, which lie in chunk(). \returns how many; false in `good`: no sense in them
  virtual size_t take(std::string_view bytes, bool& good) = 0;

  void write(Piece piece) { waiting_.push_back(std::move(piece)); }
  /// A few bytes, which are copied.
  void write_small(std::string_view bytes);
  const ChunkPtr& chunk() const { return chunk_; }
  const bool copies_;

 private:
  void make_room();

  const int socket_;
  ChunkPtr chunk_ = std::make_shared<Chunk>();
  size_t begin_ = 0;  // of what was received and is not taken yet, in chunk_
  size_t end_ = 0;
  std::vector<ChunkPtr> kept_{chunk_};  // every chunk of the connection; free ones are used again
  std::deque<Piece> waiting_;
  std::deque<std::string> small_;  // what write_small() has copied, until all is written
};

std::unique_ptr<FloorConnection> make_floor_http(int socket, bool copies);
std::unique_ptr<FloorConnection> make_floor_grpc(int socket, bool copies);

}  // namespace bench
