/* Images bits with libnearfield: reads words [bit-time][word] from standard input, writes the images of each frame,
 * [plane][frequency][row][column] as pairs of floats, to standard output.
 *
 *   engine CONFIG.yaml [WORDS] <BITS >IMAGES
 *
 * WORDS is the number of words of a bit-time, 1 if it is not given: pieces of 4096 bit-times are pushed. */
#include <nearfield/nearfield.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 4096, MOST_WORDS = 4096 };

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text = calloc(1, (1 << 20) + 1); /* no configuration is longer */
  if (file == NULL || text == NULL || (fread(text, 1, 1 << 20, file) == 0 && ferror(file))) {
    fprintf(stderr, "engine: can't read %s\n", path);
    exit(66);
  }
  fclose(file);
  return text;
}

/* The exit code is the status: 78 for a wrong setting, as `nearfield` has it. */
static void require(nf_engine* engine, nf_status status) {
  if (status != NF_OK && status != NF_MORE) {
    fprintf(stderr, "engine: %s\n", nf_engine_error(engine));
    nf_engine_close(engine);
    exit((int)status);
  }
}

static void write_frames(nf_engine* engine, uint32_t images) {
  const nf_product* product = &nf_engine_get_layout(engine, 0)->products[images];
  nf_engine_frame frame;
  nf_status status;
  while ((status = nf_engine_next(engine, &frame)) == NF_OK) {
    if (frame.processor == 0 &&
        fwrite(frame.products[images], sizeof(nf_complex), product->values, stdout) != product->values) {
      perror("engine: can't write images");
      nf_engine_close(engine);
      exit(74);
    }
  }
  require(engine, status);
}

int main(int count, char** words) {
  nf_engine* engine;
  const nf_input input = {.form = NF_INPUT_BITS};
  const long bit_time = count == 3 ? strtol(words[2], NULL, 10) : 1;
  if (count < 2 || count > 3 || bit_time < 1 || bit_time > MOST_WORDS) {
    fprintf(stderr, "usage: engine CONFIG.yaml [WORDS] <BITS >IMAGES\n");
    return 64;
  }
  char* config = read_text(words[1]);
  require(NULL, nf_engine_open(&engine));
  require(engine, nf_engine_start(engine, config, &input));
  free(config);
  fprintf(stderr, "%s\n", nf_engine_remarks(engine));
  const ptrdiff_t images = nf_engine_find_product(engine, 0, "images");
  if (images < 0) {
    fprintf(stderr, "engine: the configuration asks for no images\n");
    return 78;
  }
  const size_t piece = (size_t)PIECE * (size_t)bit_time;
  uint32_t* bits = malloc(piece * sizeof *bits);
  if (bits == NULL) {
    fprintf(stderr, "engine: no memory\n");
    return 70;
  }
  size_t found;
  while ((found = fread(bits, sizeof *bits, piece, stdin)) > 0) {
    require(engine, nf_engine_push_bits(engine, bits, found));
    write_frames(engine, (uint32_t)images);
  }
  const int is_read = !ferror(stdin);
  free(bits);
  nf_engine_close(engine);
  if (!is_read || fflush(stdout) != 0) {
    perror("engine: can't read or write");
    return 74;
  }
  return 0;
}
