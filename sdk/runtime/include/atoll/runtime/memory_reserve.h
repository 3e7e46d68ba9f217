/// Addresses that are given up, piece by piece, when the process may map no more (RLIMIT_AS, a full machine), so that what needs a few
/// bytes to refuse a request, to close a connection or to write a line has them.
#pragma once

#include <cstddef>

namespace atl::runtime {

/// Of reserved addresses; they take no memory. A piece is what malloc asks the system for to serve one small block, and some more.
inline constexpr size_t kReservePieceBytes = 256 * 1024;
inline constexpr size_t kReservePieces = 64;
/// The largest block that pieces are given up for. What needs more (a tensor, a body, a buffer of OpenSSL's for records) belongs to one
/// request or connection, which can be refused.
inline constexpr size_t kReserveBlockBytes = 16 * 1024;

/// Reserves the addresses. From now on malloc(), calloc(), realloc(), aligned_alloc(), posix_memalign(), and with them `operator new`
/// and the storage of thread-local variables, succeed by a piece where the process may map no more and the block is small. Once, by a
/// program that is the server's own and is linked with atoll::reserved_malloc.
void install_memory_reserve() noexcept;
/// Takes back what was given up, as far as it can be had again; nothing where no reserve is installed. [any]
void restock_memory_reserve() noexcept;
/// Gives up a piece. Another thread may be quicker to use it. [any]
/// \returns false if none is left
bool give_up_reserve_piece() noexcept;
/// Pieces that are there. [any]
size_t memory_reserve_pieces() noexcept;

}  // namespace atl::runtime
