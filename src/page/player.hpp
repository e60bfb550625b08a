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

/// What a client of the page asks to be played.
struct PlayerRequest {
  std::string recording;  ///< the name of a file in the folder of the recordings
  std::vector<std::string> settings;
  std::optional<double> start_s;  ///< where the part that is played begins; the recording's begin without it
  std::optional<double> seconds;  ///< how long that part is; to the recording's end without it
};

/// Of a message with `recording`, `settings`, `start_s` and `seconds`. Throws UsageError with what was expected.
PlayerRequest player_request_of(const nlohmann::json& message);

/// Throws UsageError unless each text is KEY=VALUE with a key of the processing: a player's `daemon` is its own, so
/// that no setting from a browser opens a port, takes a real-time priority or writes a file.
void require_player_settings(const std::vector<std::string>& settings);

/// A process `nearfield play`, which plays a recording again and again to sockets of its own. It runs at low priority
/// and ends with this object, and with the thread of this object that started it and reads what it says.
class Player {
 public:
  enum class Phase { kPreparing, kPlaying, kEnded };
  struct State {
    Phase phase = Phase::kPreparing;
    std::string ring_socket;     ///< once it plays
    std::string control_socket;  ///< likewise
    std::string text;            ///< how far it is, or why it has ended, in words
  };

  /// How long the process may take to end. `nearfield play` kills its daemon after 5 s and then removes its folders.
  static constexpr int kPatience_s = 15;

  /// `path` is the recording's file. An error of the start is a state kEnded. Throws IoError or std::system_error where
  /// this object cannot have its event or its thread.
  Player(std::string path, PlayerRequest request);
  /// Ends the process, which has kPatience_s for that.
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Asks it to end, without waiting. `why` becomes part of the text of the state kEnded, unless an earlier call gave
  /// another reason. Any thread.
  void end(const std::string& why);
  /// Any thread.
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
  std::string output_;                 ///< of the thread: what came of the line that names the sockets
  std::string line_;                   ///< of the thread: the message that is not complete yet
  std::vector<std::string> messages_;  ///< of the thread: the last ones
  std::atomic<bool> is_to_end_ = false;
  FileDescriptor wake_;  ///< an eventfd: end() was called
  mutable std::mutex mutex_;
  State state_;      ///< guarded by mutex_
  std::string why_;  ///< of end(); guarded by mutex_
  std::thread thread_;
};

/// "preparing", "playing", "ended".
const char* name_of(Player::Phase phase);

}  // namespace nearfield::page
