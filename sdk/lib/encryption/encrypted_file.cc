#include "atoll/lib/encrypted_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "atoll/models/model_files.h"
#include "chunk_cipher.h"

namespace atl {
namespace {

constexpr uint16_t kVersion = 2;
constexpr size_t kVersionOffset = 8, kNameLengthOffset = 10, kChunkOffset = 12, kIdOffset = 48, kIdBytes = 64;
constexpr uint32_t kLeastChunkBytes = 64, kMostChunkBytes = uint32_t{16} << 20;
constexpr uint64_t kMostChunks = std::numeric_limits<uint32_t>::max();

using Header = std::array<std::byte, kEncryptedHeaderBytes>;

std::span<const std::byte, kCheckedHeaderBytes> checked_part(const Header& header) noexcept {
  return std::span(header).first<kCheckedHeaderBytes>();
}

template <class Number>
void put(Header& header, size_t offset, Number number) noexcept {
  for (size_t i = 0; i < sizeof number; ++i) header[offset + i] = static_cast<std::byte>(number >> (8 * i));
}

template <class Number>
Number get(const Header& header, size_t offset) noexcept {
  Number number = 0;
  for (size_t i = 0; i < sizeof number; ++i)
    number =
        static_cast<Number>(number | static_cast<Number>(static_cast<Number>(header[offset + i]) << (8 * i)));
  return number;
}

bool is_chunk_size(uint32_t bytes) noexcept {
  return std::has_single_bit(bytes) && bytes >= kLeastChunkBytes && bytes <= kMostChunkBytes;
}

/// The id that stands in a header; empty: none does.
std::string id_in(const Header& header) {
  const std::string_view field(reinterpret_cast<const char*>(header.data()) + kIdOffset, kIdBytes);
  const std::string_view id = field.substr(0, field.find('\0'));
  const bool is_padded = field.find_first_not_of('\0', id.size()) == std::string_view::npos;
  return is_padded && is_encryption_key_id(id) ? std::string(id) : std::string();
}

/// Fills the span, or as much as there is. \returns how much
Result<size_t> read_full(int from, std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(from, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return internal_error("reading fails: ", std::strerror(errno));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Status write_full(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return internal_error("writing fails: ", std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<Header> make_header(const EncryptionSettings& settings) {
  if (!is_encryption_key_id(settings.key_id) || !is_chunk_size(settings.chunk_bytes))
    return invalid_argument("found a key id or a size of chunks that cannot be");
  if (!is_encrypted_name(settings.name)) {
    return invalid_argument("found the name of a file that cannot be encrypted, expected at most ",
                            kMostEncryptedNameBytes, " bytes, without control characters");
  }
  Header header{};
  std::memcpy(header.data(), kEncryptedFileMagic.data(), kEncryptedFileMagic.size());
  put(header, kVersionOffset, kVersion);
  put(header, kNameLengthOffset, static_cast<uint16_t>(settings.name.size()));
  put(header, kChunkOffset, settings.chunk_bytes);
  if (settings.salt) {
    std::ranges::copy(*settings.salt, header.begin() + kEncryptionSaltOffset);
  } else if (RAND_bytes(reinterpret_cast<unsigned char*>(header.data() + kEncryptionSaltOffset),
                        kEncryptionSaltBytes) != 1) {
    return internal_error("OpenSSL has no random bytes");
  }
  std::memcpy(header.data() + kIdOffset, settings.key_id.data(), settings.key_id.size());
  return header;
}

/// The plain bytes of two chunks: whether one is the last is known when the next was read.
Status encrypt_chunks(int from, int to, ChunkCipher& cipher, std::span<std::byte> now,
                      std::span<std::byte> next) {
  std::vector<std::byte> sealed(now.size() + kEncryptionTagBytes);
  Result<size_t> count = read_full(from, now);
  for (uint64_t number = 0; count.ok(); ++number) {
    Result<size_t> following = *count == now.size() ? read_full(from, next) : Result<size_t>(size_t{0});
    if (!following.ok()) return std::move(following).status();
    const bool is_last = *following == 0;
    if (number >= kMostChunks) return invalid_argument("the file has more than ", kMostChunks, " chunks");
    const auto part = std::span(sealed).first(*count + kEncryptionTagBytes);
    if (!cipher.seal({static_cast<uint32_t>(number), is_last}, now.first(*count), part))
      return internal_error("OpenSSL does not encrypt by AES-256-GCM");
    ATOLL_RETURN_IF_ERROR(write_full(to, part));
    if (is_last) return {};
    std::swap(now, next);
    count = std::move(following);
  }
  return std::move(count).status();
}

/// The name that a file at this path must have; empty: it is not below the folder.
std::string name_below(const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  std::string name =
      fs::path(path).lexically_normal().lexically_relative(fs::path(folder).lexically_normal()).string();
  return is_encrypted_name(name) ? name : std::string();
}

}  // namespace

bool is_encrypted_name(std::string_view name) noexcept {
  if (name.size() > kMostEncryptedNameBytes) return false;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(name, is_control)) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

Status encrypt_file(int from, int to, const EncryptionSettings& settings) noexcept {
  Result<Header> header = make_header(settings);
  if (!header.ok()) return std::move(header).status();
  Result<ChunkCipher> cipher = ChunkCipher::make(checked_part(*header), settings.name, settings.key);
  if (!cipher.ok()) return std::move(cipher).status();
  std::ranges::copy(cipher->check_value(), header->begin() + kCheckedHeaderBytes);
  ATOLL_RETURN_IF_ERROR(write_full(to, *header));
  ATOLL_RETURN_IF_ERROR(write_full(to, std::as_bytes(std::span(settings.name))));
  const size_t chunk = settings.chunk_bytes;
  Result<LockedMemory> plain = LockedMemory::make(2 * chunk, false);
  if (!plain.ok()) return std::move(plain).status();
  return encrypt_chunks(from, to, *cipher, plain->bytes().first(chunk), plain->bytes().last(chunk));
}

Result<EncryptedFile> EncryptedFile::open(const std::string& path,
                                          const std::string& version_directory) noexcept {
  const std::string name = name_below(version_directory, path);
  if (name.empty()) {
    return invalid_argument("model file '", path, "' is not in the folder '", version_directory,
                            "' of its version, or has a name that no encrypted file has");
  }
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) {
    const int error = errno;
    const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kInternal;
    return make_status(code, "model file '", path, "': ", std::strerror(error));
  }
  return open(std::move(file), path, name);
}

Result<EncryptedFile> EncryptedFile::open(FileDescriptor file, const std::string& path,
                                          std::string_view name) noexcept {
  EncryptedFile opened;
  opened.file_ = std::move(file);
  opened.path_ = path;
  Status status = opened.read_header();
  if (status.ok()) status = opened.read_name(name);
  if (!status.ok()) return make_status(status.code(), "model file '", path, "' ", status.message());
  return opened;
}

Status EncryptedFile::read_header() {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return internal_error("cannot be read: ", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return invalid_argument("is no plain file");
  file_bytes_ = static_cast<uint64_t>(info.st_size);
  const size_t there = std::min<uint64_t>(file_bytes_, header_.size());
  ATOLL_RETURN_IF_ERROR(read_at(0, std::span(header_).first(there)));
  const std::string_view begin(reinterpret_cast<const char*>(header_.data()), kEncryptedFileMagic.size());
  if (there < kEncryptedFileMagic.size() || begin != kEncryptedFileMagic)
    return invalid_argument("is not encrypted");
  if (there < kVersionOffset + 2) return make_status(Code::kDataLoss, "is cut: it ends in its header");
  if (const auto version = get<uint16_t>(header_, kVersionOffset); version != kVersion)
    return invalid_argument("is encrypted in format ", version, ", expected ", kVersion,
                            ": encrypt the plain file again by an atollctl of this server's version");
  if (there < header_.size()) return make_status(Code::kDataLoss, "is cut: it ends in its header");
  chunk_bytes_ = get<uint32_t>(header_, kChunkOffset);
  key_id_ = id_in(header_);
  if (!is_chunk_size(chunk_bytes_) || key_id_.empty())
    return make_status(Code::kDataLoss, "has a damaged header");
  return {};
}

/// Reads the name, which has to be the expected one, and computes how many chunks are behind it.
Status EncryptedFile::read_name(std::string_view expected) {
  const size_t length = get<uint16_t>(header_, kNameLengthOffset);
  if (length > kMostEncryptedNameBytes) return make_status(Code::kDataLoss, "has a damaged header");
  if (file_bytes_ < header_.size() + length)
    return make_status(Code::kDataLoss, "is cut: it ends in its header");
  name_.resize(length);
  ATOLL_RETURN_IF_ERROR(read_at(header_.size(), std::as_writable_bytes(std::span(name_))));
  if (!is_encrypted_name(name_)) return make_status(Code::kDataLoss, "has a damaged header");
  // Whether the header tells the truth is seen when it is decrypted.
  if (name_ != expected) {
    return make_status(Code::kDataLoss, "was encrypted under the name '", name_, "', expected '", expected,
                       "': encrypted files of a version cannot be renamed, nor take each other's place");
  }
  const uint64_t body = file_bytes_ - body_offset(), whole = chunk_bytes_ + kEncryptionTagBytes;
  chunks_ = (body + whole - 1) / whole;
  const uint64_t last = chunks_ == 0 ? 0 : body - (chunks_ - 1) * whole;
  if (last < kEncryptionTagBytes || (chunks_ > 1 && last == kEncryptionTagBytes))
    return make_status(Code::kDataLoss, "is cut: it ends in chunk ", std::max<uint64_t>(chunks_, 1));
  if (chunks_ > kMostChunks) return make_status(Code::kDataLoss, "has too many chunks");
  plain_bytes_ = body - chunks_ * kEncryptionTagBytes;
  return {};
}

Status EncryptedFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return internal_error("cannot be read: ", std::strerror(errno));
    if (count == 0) return make_status(Code::kDataLoss, "became shorter while it was read");
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

Status EncryptedFile::decrypt(EncryptionKey key, std::span<std::byte> plain) const noexcept {
  const auto failed = [&](Code code, const auto&... what) {
    OPENSSL_cleanse(plain.data(), plain.size());
    return make_status(code, "model file '", path_, "' ", what...);
  };
  if (plain.size() != plain_bytes_) return failed(Code::kInternal, "does not fit the memory for it");
  Result<ChunkCipher> cipher = ChunkCipher::make(checked_part(header_), name_, key);
  if (!cipher.ok()) return failed(cipher.status().code(), "cannot be decrypted: ", cipher.status().message());
  if (CRYPTO_memcmp(cipher->check_value().data(), header_.data() + kCheckedHeaderBytes,
                    cipher->check_value().size()) != 0) {
    return failed(Code::kFailedPrecondition, "was encrypted with another key than the one that is called '",
                  key_id_, "' here, or its header was changed");
  }
  std::vector<std::byte> sealed(std::min<uint64_t>(file_bytes_, chunk_bytes_ + kEncryptionTagBytes));
  for (uint64_t i = 0; i < chunks_; ++i) {
    const uint64_t from = i * chunk_bytes_;
    const auto part = plain.subspan(from, std::min<uint64_t>(chunk_bytes_, plain_bytes_ - from));
    const auto chunk = std::span(sealed).first(part.size() + kEncryptionTagBytes);
    const Status read = read_at(body_offset() + i * (chunk_bytes_ + kEncryptionTagBytes), chunk);
    if (!read.ok()) return failed(read.code(), read.message());
    const auto number = static_cast<uint32_t>(i);
    const bool is_last = i + 1 == chunks_;
    if (cipher->open({number, is_last}, chunk, part)) continue;
    // It may be whole, and its neighbours missing or strange.
    if (!cipher->open({number, !is_last}, chunk, part))
      return failed(Code::kDataLoss, "is damaged: chunk ", i + 1, " of ", chunks_,
                    " was changed, or does not belong to this place of this file");
    return is_last ? failed(Code::kDataLoss, "is cut: it ends behind chunk ", i + 1,
                            ", which was not its last one")
                   : failed(Code::kDataLoss, "is damaged: there is something behind chunk ", i + 1,
                            ", which was its last one");
  }
  return {};
}

}  // namespace atl
