// Vectors of WIDTH values side by side, or single values if it is 1; loads and stores between them and memory. In memory
// the real and imaginary parts of complex values lie side by side.

//! needs common/join.cl

//! default WIDTH 1  // 1, 2, 4 or 8

#if WIDTH == 1
#define PAIR_WIDTH 2
#elif WIDTH == 2
#define PAIR_WIDTH 4
#elif WIDTH == 4
#define PAIR_WIDTH 8
#else
#define PAIR_WIDTH 16
#endif
#define COMPLEXV JOIN(float, PAIR_WIDTH)
#define LOAD_PAIRS(re, im, from)                                          \
  {                                                                       \
    const JOIN(int, PAIR_WIDTH) pairs = JOIN(vload, PAIR_WIDTH)(0, from); \
    re = pairs.even;                                                      \
    im = pairs.odd;                                                       \
  }
#define STORE_PAIRS(re, im, to)             \
  {                                         \
    JOIN(int, PAIR_WIDTH) pairs;            \
    pairs.even = re;                        \
    pairs.odd = im;                         \
    JOIN(vstore, PAIR_WIDTH)(pairs, 0, to); \
  }
#if WIDTH == 1
#define UINTV uint
#define INTV int
#define FLOATV float
#define LOAD_UINTS(from) (*(from))
#define LOAD_FLOATS(from) (*(from))
#define LOAD_COMPLEX(from) (*(from))
#define STORE_FLOATS(value, to) (*(to) = (value))
#define STORE_INTS(value, to) (*(to) = (value))
#define TO_FLOATS(value) ((float)(value))
#define TO_INTS(value) ((int)(value))
#define ROUNDED(value) convert_int_sat_rte(value)
#define IS_TRUE(value) (value)
#else
#define UINTV JOIN(uint, WIDTH)
#define INTV JOIN(int, WIDTH)
#define FLOATV JOIN(float, WIDTH)
#define LOAD_UINTS(from) JOIN(vload, WIDTH)(0, from)
#define LOAD_FLOATS(from) JOIN(vload, WIDTH)(0, from)
#define LOAD_COMPLEX(from) JOIN(vload, PAIR_WIDTH)(0, (__global const float*)(from))
#define STORE_FLOATS(value, to) JOIN(vstore, WIDTH)(value, 0, to)
#define STORE_INTS(value, to) JOIN(vstore, WIDTH)(value, 0, to)
#define TO_FLOATS(value) JOIN(convert_float, WIDTH)(value)
#define TO_INTS(value) JOIN(convert_int, WIDTH)(value)
#define ROUNDED(value) JOIN(JOIN(convert_int, WIDTH), _sat_rte)(value)
#define IS_TRUE(value) (-(value))  // a true comparison of vectors is -1
#endif
