#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

namespace nearfield::ring {

inline constexpr std::size_t kKeyCharacters = 40;  ///< length of a CURVE key: Z85 of 32 bytes

/// Admits the CURVE clients whose keys are listed, and no others: the one ZAP handler (ZeroMQ RFC 27) of a context,
/// with a thread of its own. Without a handler ZeroMQ admits every client that has any key.
class CurveClients {
 public:
  /// `public_keys` in Z85. Must be constructed before a CURVE socket of the context is bound. Throws ConfigError if a
  /// text is not a key.
  CurveClients(zmq::context_t& context, const std::vector<std::string>& public_keys);
  /// Shuts the context down; its other sockets must be closed.
  ~CurveClients();
  CurveClients(const CurveClients&) = delete;
  CurveClients& operator=(const CurveClients&) = delete;

 private:
  void run();
  void answer(const std::vector<zmq::message_t>& request);

  zmq::context_t* context_;
  std::set<std::string> keys_;  ///< 32 bytes each
  zmq::socket_t socket_;        ///< used only by the thread once it runs
  std::thread thread_;
};

}  // namespace nearfield::ring
