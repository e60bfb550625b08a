#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/live/live_input.hpp"

namespace nearfield::daemon {

/// Identifies the content of a file without reading it.
struct FileStamp {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Throws NoInputError if there is no file, or one that is not regular, as reading it could block.
FileStamp stamp_of(const std::string& path);

/// Input of a child process that warms a configuration, on its standard input: the settings' origin, and the running
/// source's input.
struct WarmRequest {
  std::string path;
  std::vector<std::string> overrides;
  LiveInput input;
  std::string standard_input{};  ///< content of the parent's, if `path` is kStandardInput
};
nlohmann::json to_json(const WarmRequest& request);
/// Throws nlohmann::json::exception on input that to_json() does not write.
WarmRequest warm_request_of(const nlohmann::json& json);

nlohmann::json to_json(const FileStamp& stamp);
FileStamp file_stamp_of(const nlohmann::json& json);

/// Descriptor on which the parent sends one byte when the child may continue. Its end tells the child to stop.
inline constexpr int kGoOnDescriptor = 3;

/// Main function of `nearfieldd --warm`, which WarmProcess starts: reads a WarmRequest from standard input, loads the
/// settings and every file that they name, reports that, waits for a byte at kGoOnDescriptor, makes an epoch like the
/// daemon, and reports that; one line of JSON each on standard output. Compiled kernels remain in the caches on disk.
/// `fault`, if any, is called before the epoch is made. Returns an exit code.
int run_warm_child(const std::function<void()>& fault);

}  // namespace nearfield::daemon
