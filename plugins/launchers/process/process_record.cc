#include "launchers/process/process_record.h"

#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/lib/checked_document.h"

namespace atl::launchers {
namespace {

using Value = CheckedValue;

std::string this_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

void write_address(CheckedWriter& writer, const char* key, const HostPort& address) {
  writer.Key(key);
  writer.String(address.host.empty() ? "" : address.text().c_str());
}

const Value* member(const Value& object, const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

bool read_address(const Value& object, const char* key, HostPort& address) {
  const Value* text = member(object, key);
  if (text == nullptr || !text->IsString()) return false;
  if (text->GetStringLength() == 0) return true;
  std::optional<HostPort> parsed = HostPort::parse(text->GetString());
  if (parsed) address = std::move(*parsed);
  return parsed.has_value();
}

bool read_record(const Value& object, ProcessRecord& record) {
  if (!object.IsObject()) return false;
  const Value *pid = member(object, "pid"), *start = member(object, "start_time"),
              *boot = member(object, "boot_id"), *memory = member(object, "memory"),
              *cores = member(object, "cpu_cores"), *gpus = member(object, "gpus");
  if (pid == nullptr || !pid->IsInt() || pid->GetInt() <= 1 || start == nullptr || !start->IsUint64())
    return false;
  if (boot == nullptr || !boot->IsString() || memory == nullptr || !memory->IsUint64()) return false;
  if (cores == nullptr || !cores->IsArray() || gpus == nullptr || !gpus->IsArray()) return false;
  record.process = {pid->GetInt(), start->GetUint64(), boot->GetString()};
  record.memory_bytes = memory->GetUint64();
  for (const Value& core : cores->GetArray()) {
    if (!core.IsUint()) return false;
    record.cpu_cores.push_back(core.GetUint());
  }
  for (const Value& gpu : gpus->GetArray()) {
    if (!gpu.IsString()) return false;
    record.gpus.emplace_back(gpu.GetString());
  }
  return read_address(object, "http", record.address.http) &&
         read_address(object, "grpc", record.address.grpc);
}

std::string json_of(const ProcessRecord& record) {
  CheckedBuffer buffer;
  CheckedWriter writer(buffer);
  writer.StartObject();
  writer.Key("pid");
  writer.Int(record.process.pid);
  writer.Key("start_time");
  writer.Uint64(record.process.start_time);
  writer.Key("boot_id");
  writer.String(record.process.boot_id.c_str());
  write_address(writer, "http", record.address.http);
  write_address(writer, "grpc", record.address.grpc);
  writer.Key("cpu_cores");
  writer.StartArray();
  for (uint32_t core : record.cpu_cores) writer.Uint(core);
  writer.EndArray();
  writer.Key("gpus");
  writer.StartArray();
  for (const std::string& gpu : record.gpus) writer.String(gpu.c_str());
  writer.EndArray();
  writer.Key("memory");
  writer.Uint64(record.memory_bytes);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

Result<ProcessIdentity> ProcessIdentity::of(pid_t pid) {
  std::ifstream file(cat("/proc/", pid, "/stat"));
  std::string line;
  if (!std::getline(file, line)) return not_found("there is no process ", pid);
  // The name of the program, which may have anything in it, ends at the last bracket; its start is 20 fields on.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return unavailable("/proc/", pid, "/stat has no program");
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  ProcessIdentity identity{pid, 0, this_boot()};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), identity.start_time);
  if (!fields || error != std::errc()) return unavailable("/proc/", pid, "/stat has no start time");
  return identity;
}

Status ProcessRecord::write(const std::string& file) const {
  const std::string text = json_of(*this), draft = file + ".new";
  const FileDescriptor out(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool is_written = out.valid() &&
                          ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                          ::fsync(out.get()) == 0 && std::rename(draft.c_str(), file.c_str()) == 0;
  return is_written ? Status() : unavailable("its record cannot be written: ", std::strerror(errno));
}

Result<ProcessRecord> ProcessRecord::read(const std::string& file) {
  std::ifstream in(file);
  if (!in) return not_found("there is no ", file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  ProcessRecord record;
  if (document.HasParseError() || !read_record(document, record))
    return make_status(Code::kDataLoss, file, " is no record of a process");
  return record;
}

}  // namespace atl::launchers
