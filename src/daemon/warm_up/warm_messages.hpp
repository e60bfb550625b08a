#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/live/live_input.hpp"

namespace nearfield::daemon {

/// What identifies the content of a file without reading it.
struct FileStamp {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Throws NoInputError where there is no file, or one that is not regular, reading which could block.
FileStamp stamp_of(const std::string& path);

/// What a child process that warms a configuration reads from its standard input: where the settings come from, and
/// what the running source delivers.
struct WarmRequest {
  std::string path;
  std::vector<std::string> overrides;
  LiveInput input;
  std::string standard_input{};  ///< what the parent's held, where `path` is kStandardInput
};
nlohmann::json to_json(const WarmRequest& request);
/// Throws nlohmann::json::exception on anything that to_json() does not write.
WarmRequest warm_request_of(const nlohmann::json& json);

nlohmann::json to_json(const FileStamp& stamp);
FileStamp file_stamp_of(const nlohmann::json& json);

/// The descriptor on which the parent sends one byte when the child may continue. Its end means that the child is to
/// stop.
inline constexpr int kGoOnDescriptor = 3;

}  // namespace nearfield::daemon
