/// Addresses that are given up, piece by piece, when the process may map no more (RLIMIT_AS, a full machine), so that what needs a few
/// bytes to refuse a request, to close a connection or to write a line has them.
#pragma once

#include <cstddef>

namespace atl::runtime {

/// Of reserved addresses; they take no memory.
inline constexpr size_t kReservePieceBytes = 256 * 1024;
inline constexpr size_t kReservePieces = 64;

/// Reserves the addresses and becomes what `operator new` calls when it gets nothing (std::set_new_handler). An allocation that a piece
/// is enough for succeeds by it; a larger one fails with std::bad_alloc as ever, and the piece is kept for others. Once, by a process
/// that is the server's own.
void install_memory_reserve() noexcept;
/// Takes back what was given up, as far as it can be had again. [any]
void restock_memory_reserve() noexcept;
/// Pieces that are there. [any]
size_t memory_reserve_pieces() noexcept;

}  // namespace atl::runtime
