#pragma once
#include <atomic>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/system/file_descriptor.hpp"

namespace nearfield::page {

/// A client's request to play a recording.
struct PlayerRequest {
  std::string recording;  ///< the name of a file in the folder of the recordings
  std::vector<std::string> settings;
  std::optional<double> start_s;  ///< begin of the part to play; nullopt: the recording's begin
  std::optional<double> seconds;  ///< length of that part; nullopt: to the recording's end
};

/// Parses a message with `recording`, `settings`, `start_s` and `seconds`. Throws UsageError that names the expected
/// value.
PlayerRequest player_request_of(const nlohmann::json& message);

/// Throws UsageError unless each text is KEY=VALUE with a key of the processing: settings of a player's `daemon` are
/// refused, so that no setting from a browser opens a port, takes a real-time priority or writes a file.
void require_player_settings(const std::vector<std::string>& settings);

/// A process `nearfield play`, which plays a recording in a loop to its own sockets. It runs at low priority and ends
/// with this object, and with this object's thread, which started it and reads its output.
class Player {
 public:
  enum class Phase { kPreparing, kPlaying, kEnded };
  struct State {
    Phase phase = Phase::kPreparing;
    std::string ring_socket;     ///< empty until it plays
    std::string control_socket;  ///< empty until it plays
    std::string text;            ///< progress, or the reason of its end, in words
  };

  /// Longest time for the process to end. `nearfield play` kills its daemon after 5 s and then removes its folders.
  static constexpr int kTimeout_s = 15;

  /// `path` is the recording's file. An error of the start results in the state kEnded. Throws IoError or
  /// std::system_error if this object cannot create its event or its thread.
  Player(std::string path, PlayerRequest request);
  /// Ends the process, which takes at most kTimeout_s.
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Requests its end, without waiting. `why` becomes part of the text of the state kEnded, unless an earlier call gave
  /// another reason. Any thread.
  void end(const std::string& why);
  /// From any thread.
  [[nodiscard]] State state() const;
  [[nodiscard]] const PlayerRequest& request() const { return request_; }

 private:
  struct Process;

  void run(const std::string& path);
  void follow(Process& process);
  void take_output(const std::string& text);
  void take_messages(const std::string& text);
  void say_end(int status, bool is_killed);
  void set_ended(std::string text);

  const PlayerRequest request_;
  std::string output_;                 ///< for the thread: received part of the line that names the sockets
  std::string line_;                   ///< for the thread: incomplete message
  std::vector<std::string> messages_;  ///< for the thread: last messages
  std::atomic<bool> is_to_end_ = false;
  FileDescriptor wake_;  ///< eventfd, readable after end()
  mutable std::mutex mutex_;
  State state_;      ///< guarded by mutex_
  std::string why_;  ///< from end(); guarded by mutex_
  std::thread thread_;
};

/// "preparing", "playing", "ended".
const char* name_of(Player::Phase phase);

}  // namespace nearfield::page
