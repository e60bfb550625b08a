// A camera of Video4Linux for tests, where none is to be had: preloaded into a program (LD_PRELOAD), it answers the
// calls for the device that FAKE_CAMERA names. It gives the frames of the file FAKE_FRAMES, 30 a second, again and
// again. The word in the file FAKE_STATE says what it does: fine, gone, denied, busy, nojpeg, metadata (a node without
// pictures), silent or unplugged.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { kBuffers = 4, kBufferBytes = 1 << 20, kPeriodNs = 33000000 };

static int camera = -1;  // a timer, so that poll() finds a frame each period
static char* buffers[kBuffers];
static unsigned queue[64];
static unsigned first_queued;
static unsigned last_queued;
static char* frames;
static long frames_bytes;
static long frame_at;

static int is_state(const char* state) {
  char word[32] = "";
  FILE* file = fopen(getenv("FAKE_STATE"), "r");
  const int found = file != NULL && fscanf(file, "%31s", word) == 1;
  if (file != NULL) {
    fclose(file);
  }
  return found && strcmp(word, state) == 0;
}

static int fail(int error) {
  errno = error;
  return -1;
}

static void read_frames(void) {
  FILE* file = fopen(getenv("FAKE_FRAMES"), "rb");
  fseek(file, 0, SEEK_END);
  frames_bytes = ftell(file);
  rewind(file);
  frames = malloc((size_t)frames_bytes);
  frames_bytes = (long)fread(frames, 1, (size_t)frames_bytes, file);
  fclose(file);
}

static int open_camera(void) {
  if (is_state("gone")) {
    return fail(ENOENT);
  }
  if (is_state("denied")) {
    return fail(EACCES);
  }
  if (frames == NULL) {
    read_frames();
    for (int i = 0; i < kBuffers; ++i) {
      buffers[i] = malloc(kBufferBytes);
    }
  }
  first_queued = last_queued = 0;
  camera = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  fprintf(stderr, "fake camera: opened\n");
  return camera;
}

static int describe_format(struct v4l2_fmtdesc* format) {
  if (format->index == 0) {
    format->pixelformat = V4L2_PIX_FMT_YUYV;
    strcpy((char*)format->description, "YUYV 4:2:2");
    return 0;
  }
  format->pixelformat = V4L2_PIX_FMT_MJPEG;
  return format->index == 1 && !is_state("nojpeg") ? 0 : fail(EINVAL);
}

// A frame ends where the next one begins: FF D8 FF.
static long end_of_frame(long start) {
  for (long at = start + 1; at + 2 < frames_bytes; ++at) {
    if (memcmp(frames + at, "\xff\xd8\xff", 3) == 0) {
      return at;
    }
  }
  return frames_bytes;
}

static int give_frame(struct v4l2_buffer* buffer) {
  unsigned long long periods;
  if (is_state("unplugged")) {
    return fail(ENODEV);
  }
  if (read(camera, &periods, sizeof periods) != sizeof periods || first_queued == last_queued || is_state("silent")) {
    return fail(EAGAIN);
  }
  const long start = frame_at < frames_bytes ? frame_at : 0;
  frame_at = end_of_frame(start);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  buffer->index = queue[first_queued++ % 64];
  buffer->bytesused = (unsigned)(frame_at - start);
  buffer->timestamp.tv_sec = now.tv_sec;
  buffer->timestamp.tv_usec = now.tv_nsec / 1000;
  buffer->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  memcpy(buffers[buffer->index], frames + start, buffer->bytesused);
  return 0;
}

static int control_camera(unsigned long request, void* argument) {
  struct v4l2_capability* capability = argument;
  struct v4l2_buffer* buffer = argument;
  const struct itimerspec period = {{0, kPeriodNs}, {0, kPeriodNs}};
  switch (request) {
    case VIDIOC_QUERYCAP:
      capability->capabilities =
          V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING;
      capability->device_caps =
          V4L2_CAP_STREAMING | (is_state("metadata") ? V4L2_CAP_META_CAPTURE : V4L2_CAP_VIDEO_CAPTURE);
      return 0;
    case VIDIOC_ENUM_FMT:
      return describe_format(argument);
    case VIDIOC_S_FMT:
      return is_state("busy") ? fail(EBUSY) : 0;
    case VIDIOC_REQBUFS:
      ((struct v4l2_requestbuffers*)argument)->count = kBuffers;
      return 0;
    case VIDIOC_QUERYBUF:
      buffer->length = kBufferBytes;
      buffer->m.offset = buffer->index * kBufferBytes;
      return 0;
    case VIDIOC_QBUF:
      queue[last_queued++ % 64] = buffer->index;
      return 0;
    case VIDIOC_STREAMON:
      return timerfd_settime(camera, 0, &period, NULL);
    case VIDIOC_DQBUF:
      return give_frame(buffer);
    default:
      return fail(EINVAL);
  }
}

// --- the calls that a program makes --------------------------------------------------------------------------------

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (strcmp(path, getenv("FAKE_CAMERA")) == 0) {
    return open_camera();
  }
  return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}

int close(int descriptor) {
  if (descriptor >= 0 && descriptor == camera) {
    camera = -1;
    fprintf(stderr, "fake camera: closed\n");
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "close"))(descriptor);
}

int ioctl(int descriptor, unsigned long request, ...) {
  va_list more;
  va_start(more, request);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (descriptor >= 0 && descriptor == camera) {
    return control_camera(request, argument);
  }
  return ((int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl"))(descriptor, request, argument);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  if (descriptor >= 0 && descriptor == camera) {
    return buffers[offset / kBufferBytes];
  }
  return ((void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap"))(address, bytes, protection, flags,
                                                                                    descriptor, offset);
}

int munmap(void* address, size_t bytes) {
  for (int i = 0; i < kBuffers; ++i) {
    if (address != NULL && address == buffers[i]) {
      return 0;
    }
  }
  return ((int (*)(void*, size_t))dlsym(RTLD_NEXT, "munmap"))(address, bytes);
}
