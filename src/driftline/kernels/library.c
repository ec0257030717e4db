/* What the machine code of kernels needs to run: memory whose references are counted.
 *
 * The functions have the names and the layout of memory that Numba compiles calls to. */
#include <stdlib.h>

#include "library.h"

typedef void (*Destructor)(void *data, size_t size, void *info);

/* Numba's code reads and writes the first five. */
typedef struct {
    size_t references;
    Destructor destructor;
    void *info, *data;
    size_t size;
    int is_apart; /* the data was allocated by itself */
} Memory;

static Memory *made(size_t size, size_t align) {
    Memory *memory = malloc(sizeof *memory + size + align);
    if (!memory) return NULL;
    char *data = (char *)(memory + 1);
    *memory = (Memory){1, NULL, NULL, data + (align - (uintptr_t)data % align) % align, size, 0};
    return memory;
}

void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *data) { free(data); }
void *NRT_MemInfo_alloc(size_t size) { return made(size, 16); }
void *NRT_MemInfo_alloc_safe(size_t size) { return made(size, 16); }
void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) { return made(size, align); }
void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return made(size, align); }

/* A list's: its items may move. */
void *NRT_MemInfo_new_varsize_dtor(size_t size, Destructor destructor) {
    Memory *memory = malloc(sizeof *memory);
    void *data = memory ? malloc(size) : NULL;
    if (!data) {
        free(memory);
        return NULL;
    }
    *memory = (Memory){1, destructor, NULL, data, size, 1};
    return memory;
}
void *NRT_MemInfo_new_varsize(size_t size) { return NRT_MemInfo_new_varsize_dtor(size, NULL); }

void *NRT_MemInfo_varsize_realloc(Memory *memory, size_t size) {
    void *data = realloc(memory->data, size);
    if (data) {
        memory->data = data;
        memory->size = size;
    }
    return data;
}

void NRT_MemInfo_call_dtor(Memory *memory) {
    if (memory->destructor) memory->destructor(memory->data, memory->size, memory->info);
    if (memory->is_apart) free(memory->data);
    free(memory);
}

static void release(void *memory) {
    if (!__atomic_sub_fetch(&((Memory *)memory)->references, 1, __ATOMIC_ACQ_REL)) NRT_MemInfo_call_dtor(memory);
}

/* Strides for another shape of an array whose items lie one behind the other; 0 if they do not. */
int numba_attempt_nocopy_reshape(int64_t dimensions, const int64_t *shape, const int64_t *strides,
                                 int64_t new_dimensions, const int64_t *new_shape, int64_t *new_strides,
                                 int64_t item_size, int by_columns) {
    int64_t whole = item_size;
    for (int64_t i = dimensions - 1; i >= 0; whole *= shape[i--])
        if (shape[i] != 1 && strides[i] != whole) return 0;
    whole = item_size;
    for (int64_t i = new_dimensions - 1; i >= 0; whole *= new_shape[i--]) new_strides[i] = whole;
    return !by_columns;
}

/* Named in code that is never called: it says in Python why a kernel failed, which caller.c does. */
void *PyExc_RuntimeError;
void PyErr_SetString(void *class, const char *text) {}

extern const Row driftline_rows[];
extern const int driftline_count;
__attribute__((visibility("default"))) Library driftline_kernels;

__attribute__((constructor)) static void fill(void) {
    driftline_kernels = (Library){driftline_count, driftline_rows, release};
}
