/* Default paths of nearfieldd's sockets, when neither configuration nor option gives one: the one rule that the daemon,
 * its clients in C++ and the reader in C share, so that they use the same paths. Not for other programs:
 * nf_ring_open(NULL) follows it.
 *
 * 1. $NEARFIELD_RUNTIME_DIR, if it is an absolute path: that folder and no other.
 * 2. For a user other than root, $XDG_RUNTIME_DIR/nearfield, if XDG_RUNTIME_DIR is an absolute path.
 * 3. /run/nearfield, which systemd makes for the service and root's daemon makes for itself.
 *
 * A daemon listens in the first of these folders. A client connects in the first one that holds the socket, so that a
 * user reaches his own daemon before the system's. systemd's $RUNTIME_DIRECTORY is not used: clients do not have it.
 */
#ifndef NEARFIELD_RUNTIME_FOLDER_H
#define NEARFIELD_RUNTIME_FOLDER_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NF_SYSTEM_FOLDER "/run/nearfield"
#define NF_FRAMES_SOCKET "frames.sock"
#define NF_CONTROL_SOCKET "control.sock"

/* Writes the path of the socket FILE in the folder number `index`, from 0; returns 0 if there is no such folder, or the
 * path does not fit. A program with more rights than its user (setuid) ignores the environment. */
static inline int nf_socket_in_folder(int index, const char* file, char* path, size_t bytes) {
  const char* own = secure_getenv("NEARFIELD_RUNTIME_DIR");
  const char* session = geteuid() != 0 ? secure_getenv("XDG_RUNTIME_DIR") : NULL;
  const int has_session = session != NULL && session[0] == '/';
  const char* folder = NULL;
  const char* below = "/";
  if (own != NULL && own[0] == '/') {
    folder = index == 0 ? own : NULL;
  } else if (has_session && index == 0) {
    folder = session;
    below = "/nearfield/";
  } else {
    folder = index == (has_session ? 1 : 0) ? NF_SYSTEM_FOLDER : NULL;
  }
  if (folder == NULL || strlen(folder) + strlen(below) + strlen(file) >= bytes) {
    return 0;
  }
  return snprintf(path, bytes, "%s%s%s", folder, below, file) > 0;
}

/* The path at which a daemon of this user listens; 0 if it does not fit. */
static inline int nf_socket_to_serve(const char* file, char* path, size_t bytes) {
  return nf_socket_in_folder(0, file, path, bytes);
}

/* The path to which a client connects: the first one with a socket, else the one to serve; 0 if it does not fit. */
static inline int nf_socket_to_connect(const char* file, char* path, size_t bytes) {
  struct stat status;
  for (int index = 0; nf_socket_in_folder(index, file, path, bytes); ++index) {
    if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode)) {
      return 1;
    }
  }
  return nf_socket_to_serve(file, path, bytes);
}

/* The path of the ring of a further processor, beside `socket`, the first one's: frames.NAME.sock beside frames.sock; 0
 * if it does not fit. */
static inline int nf_socket_of_processor(const char* socket, const char* processor, char* path, size_t bytes) {
  static const char suffix[] = ".sock";
  const size_t length = strlen(socket);
  const size_t tail = sizeof suffix - 1;
  const int has_suffix = length > tail && strcmp(socket + length - tail, suffix) == 0;
  const size_t stem = has_suffix ? length - tail : length;
  if (length + 1 + strlen(processor) >= bytes) {
    return 0;
  }
  memcpy(path, socket, stem);
  snprintf(path + stem, bytes - stem, ".%s%s", processor, has_suffix ? suffix : "");
  return 1;
}

#endif
