/* A library of kernels: what `build.py` compiles, `library.c` provides and `caller.c` calls. */
#include <stdint.h>

typedef struct {
    const char *name, *stamp, *arguments, *result;
    int (*call)(int64_t *in, int64_t *out);
} Row;

typedef struct {
    int count;
    const Row *rows;
    void (*release)(void *memory); /* gives back a reference to memory that a kernel has made */
} Library;

/* What a kernel leaves in its first word if it fails. */
typedef struct {
    const char *data;
    int32_t length;
    void *of_numba[2];
    int32_t computed; /* how many arguments of the error are not in the data */
} Failure;
