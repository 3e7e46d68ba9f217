#include "backends/onnxruntime/files/onnx_file.h"

#include <google/protobuf/io/coded_stream.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "backends/common/model_file.h"

namespace atl::ort {
namespace {

using google::protobuf::io::CodedInputStream;

/// Messages of onnx.proto on the way to external data.
enum class Part { kModel, kGraph, kFunction, kNode, kAttribute, kSparseTensor, kTensor, kExternalData };

/// A field of a message that holds messages.
struct PartField {
  Part of;
  int number;
  Part holds;
};
constexpr PartField kFields[] = {{Part::kModel, 7, Part::kGraph},
                                 {Part::kModel, 25, Part::kFunction},
                                 {Part::kGraph, 1, Part::kNode},
                                 {Part::kGraph, 5, Part::kTensor},
                                 {Part::kGraph, 15, Part::kSparseTensor},
                                 {Part::kFunction, 7, Part::kNode},
                                 {Part::kFunction, 11, Part::kAttribute},
                                 {Part::kNode, 5, Part::kAttribute},
                                 {Part::kAttribute, 5, Part::kTensor},
                                 {Part::kAttribute, 6, Part::kGraph},
                                 {Part::kAttribute, 10, Part::kTensor},
                                 {Part::kAttribute, 11, Part::kGraph},
                                 {Part::kAttribute, 22, Part::kSparseTensor},
                                 {Part::kAttribute, 23, Part::kSparseTensor},
                                 {Part::kSparseTensor, 1, Part::kTensor},
                                 {Part::kSparseTensor, 2, Part::kTensor},
                                 {Part::kTensor, 13, Part::kExternalData}};

constexpr int kMostDepth = 100;  // as protobuf's parsers
constexpr uint32_t kBytesType = 2;

const PartField* field_of(Part part, int number) noexcept {
  for (const PartField& field : kFields) {
    if (field.of == part && field.number == number) return &field;
  }
  return nullptr;
}

/// Over the wire format itself: messages that are parsed would be copies of the plain bytes.
class ExternalDataReader {
 public:
  explicit ExternalDataReader(CodedInputStream& stream) noexcept : stream_(stream) {}

  /// \returns whether it is such a message
  bool read(Part part, int depth) {
    if (depth == kMostDepth) return false;
    std::string key, value;
    while (const uint32_t tag = stream_.ReadTag()) {
      const int number = static_cast<int>(tag >> 3);
      uint32_t size = 0;
      if ((tag & 7) != kBytesType) {
        if (!skip(tag & 7)) return false;
      } else if (!stream_.ReadVarint32(&size) || size > static_cast<uint32_t>(stream_.BytesUntilLimit())) {
        return false;
      } else if (const PartField* field = field_of(part, number)) {
        const auto limit = stream_.PushLimit(static_cast<int>(size));
        if (!read(field->holds, depth + 1) || stream_.BytesUntilLimit() != 0) return false;
        stream_.PopLimit(limit);
      } else if (part == Part::kExternalData && (number == 1 || number == 2)) {
        if (!stream_.ReadString(number == 1 ? &key : &value, static_cast<int>(size))) return false;
      } else if (!stream_.Skip(static_cast<int>(size))) {
        return false;
      }
    }
    if (key == "location") found_.insert(std::move(value));
    return stream_.ConsumedEntireMessage();
  }
  const std::set<std::string>& found() const noexcept { return found_; }

 private:
  bool skip(uint32_t type) {
    uint64_t number = 0;
    if (type == 0) return stream_.ReadVarint64(&number);
    if (type == 1) return stream_.Skip(8);
    return type == 5 && stream_.Skip(4);
  }

  CodedInputStream& stream_;
  std::set<std::string> found_;
};

/// Plain bytes, until the session has its own.
struct PlainModel {
  Followed<ModelFiles>::Hold files;  ///< longer than the bytes
  std::unique_ptr<ModelFileBytes> model;
  std::vector<std::string> external_names;
  std::vector<std::unique_ptr<ModelFileBytes>> external;
};

Result<std::unique_ptr<ModelFileBytes>> read_external(ModelFiles& files, const OnnxFile& model,
                                                      const std::string& name) {
  const std::string folder = std::filesystem::path(model.path).parent_path();
  auto file = backends::find_model_file(folder, name, "external data");
  if (!file.ok()) return std::move(file).status().note(cat("external data of '", model.path, "'"));
  if (is_encrypted_file(file->path)) return files.read(file->path, model.version_directory);
  return invalid_argument("model file '", file->path,
                          "': found a plain file, expected an encrypted one, as it is external data of '",
                          model.path, "', which is encrypted");
}

Result<PlainModel> read_plain(const OnnxFile& file, Followed<ModelFiles>* model_files) {
  PlainModel plain;
  if (model_files != nullptr) plain.files = model_files->hold();
  if (!plain.files) return no_model_files(file.path);
  auto model = plain.files->read(file.path, file.version_directory);
  if (!model.ok()) return std::move(model).status();
  plain.model = std::move(model).value();
  if (plain.model->bytes().empty())
    return invalid_argument("model file '", file.path, "': found an empty file, expected an ONNX file");
  plain.external_names = external_data_of(plain.model->bytes());
  for (const std::string& name : plain.external_names) {
    auto external = read_external(*plain.files, file, name);
    if (!external.ok()) return std::move(external).status();
    plain.external.push_back(std::move(external).value());
  }
  return plain;
}

/// The options keep the addresses until the session is made.
Status add_external(const PlainModel& plain, OrtSessionOptions& options) {
  std::vector<const char*> names;
  std::vector<char*> bytes;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < plain.external.size(); ++i) {
    const std::span<const std::byte> file = plain.external[i]->bytes();
    names.push_back(plain.external_names[i].c_str());
    // ONNX Runtime reads them only.
    bytes.push_back(const_cast<char*>(reinterpret_cast<const char*>(file.data())));
    sizes.push_back(file.size());
  }
  if (names.empty()) return {};
  return check(api().AddExternalInitializersFromFilesInMemory(&options, names.data(), bytes.data(),
                                                              sizes.data(), names.size()));
}

Status make_from_memory(const Environment& environment, const PlainModel& plain, OrtSessionOptions& options,
                        Handle<OrtSession>& session) {
  ATOLL_RETURN_IF_ERROR(add_external(plain, options));
  const std::span<const std::byte> model = plain.model->bytes();
  return make(session, api().CreateSessionFromArray, &environment.env(),
              static_cast<const void*>(model.data()), model.size(), &std::as_const(options));
}

}  // namespace

Result<OnnxFile> find_onnx_file(const std::string& version_directory, const std::string& name) noexcept {
  auto found =
      backends::find_model_file(version_directory, name.empty() ? "model.onnx" : name, "an ONNX file");
  if (!found.ok()) return std::move(found).status();
  OnnxFile file{std::move(found->path), found->size_bytes, false, version_directory};
  file.is_encrypted = is_encrypted_file(file.path);
  if (file.is_encrypted) return file;
  // As external data its cipher text would be taken for weights.
  if (const std::string other = find_encrypted_file(version_directory); !other.empty()) {
    return invalid_argument(
        "model file '", other, "' is encrypted, but '", file.path,
        "' is not: expected a version with encrypted files only, as `atollctl model encrypt` makes it");
  }
  return file;
}

Result<Handle<OrtSession>> make_session(const Environment& environment, const OnnxFile& file,
                                        Followed<ModelFiles>* model_files,
                                        OrtSessionOptions& options) noexcept {
  Handle<OrtSession> session;
  Status status;
  if (file.is_encrypted) {
    auto plain = read_plain(file, model_files);
    if (!plain.ok()) return std::move(plain).status();
    status = make_from_memory(environment, *plain, options, session);
  } else {
    status =
        make(session, api().CreateSession, &environment.env(), file.path.c_str(), &std::as_const(options));
  }
  if (!status.ok()) return make_status(status.code(), "model file '", file.path, "': ", status.message());
  return session;
}

std::vector<std::string> external_data_of(std::span<const std::byte> model) noexcept {
  if (model.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return {};
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(model.data()), static_cast<int>(model.size()));
  ExternalDataReader reader(stream);
  if (!reader.read(Part::kModel, 0)) return {};
  return {reader.found().begin(), reader.found().end()};
}

}  // namespace atl::ort
