/* Calls kernels that were compiled ahead of time from Python.
 *
 *     open(path)                 a library of machine code, and the names of its kernels
 *     Kernel(library, name, by)  a function that calls one of them; `by` is the same in Python
 *     kernel.calls               how often it was called
 *     supports(cpu)              whether this processor runs code for x86-64-v3, x86-64-v2 …
 *
 * A kernel takes and returns 64-bit words. What its arguments are is written as `signatures.py`
 * writes it: i8 f8 b1 for a number (and u8 i4 … for one that is returned); Ai82w for an array of i8
 * of two dimensions that can be written, which is passed as two words and two for each dimension;
 * T(…) for a tuple, and Tmodule:Class(…) for a NamedTuple, which are passed as their items; 0 for
 * nothing.
 *
 * The first call asks `by.is_made_of(stamp)`, and goes on with `by` for good if the sources have
 * changed since. Arguments that do not fit go to `by.fitted(…)`, which makes them fit, or explains.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <dlfcn.h>
#include <numpy/arrayobject.h>
#include <structmember.h>

#include "library.h"

enum { NUMBER = 'n', ARRAY = 'A', TUPLE = 'T', NOTHING = '0' };
enum { MOST_DIMENSIONS = 9 };

/* A type. Its items, if it is a tuple, are the next ones; `size` counts all that belong to it. */
typedef struct {
    char what, kind, frozen;
    int bytes, dimensions, items, size;
    PyObject *class; /* of a NamedTuple, once it is needed */
    const char *name;
    int name_length;
} Type;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *dict, *by;
    const Row *row;
    const Library *library;
    Type *arguments, *result;
    int count, words_in, words_out;
    Py_ssize_t calls;
} Kernel;

static PyObject *first_call(PyObject *, PyObject *const *, size_t, PyObject *);

/* Types */

static int words_of(const Type *type) {
    switch (type->what) {
    case NUMBER:
        return 1;
    case ARRAY:
        return 2 + 2 * type->dimensions;
    case TUPLE: {
        int words = 0;
        for (int i = 0, at = 1; i < type->items; i++, at += type[at].size) words += words_of(type + at);
        return words;
    }
    }
    return 0;
}

/* Read one type into `to`, and return where its text ends; NULL if it is none. */
static const char *read_type(const char *text, Type *to) {
    memset(to, 0, sizeof *to);
    to->size = 1;
    if (*text == NOTHING) {
        to->what = NOTHING;
        return text + 1;
    }
    if (*text == TUPLE) {
        to->what = TUPLE;
        to->name = ++text;
        text = strchr(text, '(');
        if (!text) return NULL;
        to->name_length = (int)(text++ - to->name);
        while (*text != ')') {
            Type *item = to + to->size;
            text = read_type(text, item);
            if (!text) return NULL;
            to->size += item->size;
            to->items++;
        }
        return text + 1;
    }
    to->what = *text == ARRAY ? ARRAY : NUMBER;
    if (to->what == ARRAY) text++;
    if (!strchr("iufb", text[0]) || !strchr("1248", text[1]) || !text[0] || !text[1]) return NULL;
    to->kind = text[0];
    to->bytes = text[1] - '0';
    if (to->what == NUMBER) return text + 2;
    to->dimensions = text[2] - '0';
    to->frozen = text[3] == 'r';
    return to->dimensions > 0 && to->dimensions <= MOST_DIMENSIONS ? text + 4 : NULL;
}

static int type_number(const Type *type) {
    switch (type->kind) {
    case 'b':
        return NPY_BOOL;
    case 'f':
        return type->bytes == 8 ? NPY_FLOAT64 : NPY_FLOAT32;
    case 'u':
        return type->bytes == 8   ? NPY_UINT64
               : type->bytes == 4 ? NPY_UINT32
               : type->bytes == 2 ? NPY_UINT16
                                  : NPY_UINT8;
    }
    return type->bytes == 8 ? NPY_INT64 : type->bytes == 4 ? NPY_INT32 : type->bytes == 2 ? NPY_INT16 : NPY_INT8;
}

/* From Python to words. Return -1, perhaps with an error, if the value does not fit. */

/* As Numba has it: neither an array of one number, nor a Decimal, nor whatever is true or false. */
static int is_number(PyObject *value) {
    return PyLong_Check(value) || PyFloat_Check(value) || PyArray_IsScalar(value, Bool) ||
           PyArray_IsScalar(value, Integer) || PyArray_IsScalar(value, Float);
}

static int number_in(const Type *type, PyObject *value, int64_t *word) {
    if (!is_number(value)) return -1;
    if (type->kind == 'f') {
        double number = PyFloat_AsDouble(value);
        memcpy(word, &number, sizeof number);
    } else if (type->kind == 'b') {
        *word = PyObject_IsTrue(value);
    } else {
        PyObject *whole = PyNumber_Index(value);
        if (!whole) return -1;
        *word = PyLong_AsLongLong(whole);
        Py_DECREF(whole);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int array_in(const Type *type, PyObject *value, int64_t *words) {
    if (!PyArray_Check(value)) return -1;
    PyArrayObject *array = (PyArrayObject *)value;
    const PyArray_Descr *held = PyArray_DESCR(array);
    if (PyArray_NDIM(array) != type->dimensions || held->kind != type->kind ||
        PyArray_ITEMSIZE(array) != type->bytes || !PyArray_ISCARRAY_RO(array) ||
        !(type->frozen || PyArray_ISWRITEABLE(array)))
        return -1;
    *words++ = 0; /* no memory of the kernel's own */
    *words++ = (int64_t)PyArray_DATA(array);
    for (int i = 0; i < type->dimensions; i++) *words++ = PyArray_DIM(array, i);
    for (int i = 0; i < type->dimensions; i++) *words++ = PyArray_STRIDE(array, i);
    return 0;
}

static int value_in(const Type *type, PyObject *value, int64_t **words) {
    if (type->what == TUPLE) {
        if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != type->items) return -1;
        for (int i = 0, at = 1; i < type->items; i++, at += type[at].size)
            if (value_in(type + at, PyTuple_GET_ITEM(value, i), words)) return -1;
        return 0;
    }
    int64_t *word = *words;
    *words += words_of(type);
    return type->what == ARRAY ? array_in(type, value, word) : number_in(type, value, word);
}

/* From words to Python. Return NULL with an error if there is no memory. */

static void release(PyObject *capsule) {
    const Library *library = PyCapsule_GetContext(capsule);
    library->release(PyCapsule_GetPointer(capsule, NULL));
}

/* The array among the arguments that a place in memory is in. (Behind its end another may begin.) */
static PyObject *owner_of(const Type *type, PyObject *value, const char *place) {
    if (type->what == ARRAY) {
        const char *data = PyArray_DATA((PyArrayObject *)value);
        return place >= data && place < data + PyArray_NBYTES((PyArrayObject *)value) ? value : NULL;
    }
    PyObject *found = NULL;
    for (int i = 0, at = 1; type->what == TUPLE && i < type->items && !found; i++, at += type[at].size)
        found = owner_of(type + at, PyTuple_GET_ITEM(value, i), place);
    return found;
}

static PyObject *array_out(const Kernel *kernel, const Type *type, int64_t *words, PyObject *const *given) {
    void *memory = (void *)words[0];
    char *data = (char *)words[1];
    npy_intp *shape = words + 2, *strides = shape + type->dimensions;
    PyObject *base = NULL;
    if (memory) {
        base = PyCapsule_New(memory, NULL, release);
        if (!base) {
            kernel->library->release(memory);
            return NULL;
        }
        PyCapsule_SetContext(base, (void *)kernel->library);
    } else {
        const Type *argument = kernel->arguments;
        for (int i = 0; i < kernel->count && !base; i++, argument += argument->size)
            base = owner_of(argument, given[i], data);
        if (!base && PyArray_MultiplyList(shape, type->dimensions)) {
            PyErr_Format(PyExc_RuntimeError, "the kernel %s returns an array that is nobody's", kernel->row->name);
            return NULL;
        }
        if (!base) return PyArray_ZEROS(type->dimensions, shape, type_number(type), 0);
        Py_INCREF(base);
    }
    PyArray_Descr *kind = PyArray_DescrFromType(type_number(type));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, kind, type->dimensions, shape, strides, data,
                                          type->frozen ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (!made || PyArray_SetBaseObject((PyArrayObject *)made, base) < 0) {
        Py_XDECREF(made);
        if (!made) Py_DECREF(base);
        return NULL;
    }
    return made;
}

/* The class of a NamedTuple, by its name `module:Class`. */
static PyObject *class_of(Type *type) {
    if (!type->class) {
        const char *colon = memchr(type->name, ':', type->name_length);
        PyObject *home = PyUnicode_FromStringAndSize(type->name, colon - type->name);
        PyObject *name = PyUnicode_FromStringAndSize(colon + 1, type->name + type->name_length - colon - 1);
        PyObject *module = home && name ? PyImport_Import(home) : NULL;
        if (module) type->class = PyObject_GetAttr(module, name);
        Py_XDECREF(module);
        Py_XDECREF(home);
        Py_XDECREF(name);
    }
    return type->class;
}

static PyObject *value_out(const Kernel *kernel, Type *type, int64_t **words, PyObject *const *given) {
    if (type->what == NOTHING) Py_RETURN_NONE;
    if (type->what == TUPLE) {
        PyObject *items = PyTuple_New(type->items);
        int fine = items != NULL;
        for (int i = 0, at = 1; fine && i < type->items; i++, at += type[at].size) {
            PyObject *item = value_out(kernel, type + at, words, given);
            PyTuple_SET_ITEM(items, i, item);
            fine = item != NULL;
        }
        if (!fine) {
            Py_XDECREF(items);
            return NULL;
        }
        if (!type->name_length) return items;
        PyObject *class = class_of(type);
        PyObject *made = class ? PyObject_Call(class, items, NULL) : NULL;
        Py_DECREF(items);
        return made;
    }
    int64_t *word = *words;
    *words += words_of(type);
    if (type->what == ARRAY) return array_out(kernel, type, word, given);
    if (type->kind == 'b') return PyBool_FromLong(*word != 0);
    if (type->kind == 'u') return PyLong_FromUnsignedLongLong((uint64_t)*word);
    if (type->kind == 'i') return PyLong_FromLongLong(*word);
    double number;
    memcpy(&number, word, sizeof number);
    return PyFloat_FromDouble(number);
}

/* Calls */

/* Raise what compiled code says: a class and its arguments, pickled when the library was made. Only
 * some functions of NumPy compute these; what they say is left out. */
static PyObject *raised(const Kernel *kernel, const Failure *failure) {
    PyObject *pickle = failure && !failure->computed ? PyImport_ImportModule("pickle") : NULL;
    PyObject *error =
        pickle ? PyObject_CallMethod(pickle, "loads", "y#", failure->data, (Py_ssize_t)failure->length) : NULL;
    if (error && PyTuple_Check(error) && PyTuple_GET_SIZE(error) >= 2)
        PyErr_SetObject(PyTuple_GET_ITEM(error, 0), PyTuple_GET_ITEM(error, 1));
    Py_XDECREF(error);
    Py_XDECREF(pickle);
    if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "the kernel %s failed", kernel->row->name);
    return NULL;
}

static PyObject *call(PyObject *self, PyObject *const *given, size_t flags, PyObject *names) {
    Kernel *kernel = (Kernel *)self;
    int fits = PyVectorcall_NARGS(flags) == kernel->count && !(names && PyTuple_GET_SIZE(names));
    int64_t in[kernel->words_in + 1], out[kernel->words_out + 1], *words = in;
    const Type *type = kernel->arguments;
    for (int i = 0; fits && i < kernel->count; i++, type += type->size) fits = !value_in(type, given[i], &words);
    if (!fits) {
        PyErr_Clear();
        PyObject *fit = PyObject_GetAttrString(kernel->by, "fitted");
        PyObject *fitted = fit ? PyObject_Vectorcall(fit, given, PyVectorcall_NARGS(flags), names) : NULL;
        PyObject *result = fitted ? PyObject_Call(self, fitted, NULL) : NULL;
        Py_XDECREF(fitted);
        Py_XDECREF(fit);
        return result;
    }
    kernel->calls++;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = kernel->row->call(in, out);
    Py_END_ALLOW_THREADS
    if (status) return raised(kernel, (const Failure *)out[0]);
    words = out;
    return value_out(kernel, kernel->result, &words, given);
}

static PyObject *call_in_python(PyObject *self, PyObject *const *given, size_t flags, PyObject *names) {
    return PyObject_Vectorcall(((Kernel *)self)->by, given, PyVectorcall_NARGS(flags), names);
}

static PyObject *first_call(PyObject *self, PyObject *const *given, size_t flags, PyObject *names) {
    Kernel *kernel = (Kernel *)self;
    PyObject *answer = PyObject_CallMethod(kernel->by, "is_made_of", "s", kernel->row->stamp);
    if (!answer) return NULL;
    kernel->call = PyObject_IsTrue(answer) ? call : call_in_python;
    Py_DECREF(answer);
    return kernel->call(self, given, flags, names);
}

/* The type Kernel */

static int kernel_init(PyObject *self, PyObject *given, PyObject *names) {
    Kernel *kernel = (Kernel *)self;
    PyObject *library, *by;
    const char *name;
    if (!PyArg_ParseTuple(given, "OsO", &library, &name, &by)) return -1;
    const Library *of = PyCapsule_GetPointer(library, NULL);
    if (!of) return -1;
    for (int i = 0; i < of->count && !kernel->row; i++)
        if (!strcmp(of->rows[i].name, name)) kernel->row = of->rows + i;
    if (!kernel->row) {
        PyErr_SetString(PyExc_KeyError, name);
        return -1;
    }
    kernel->library = of;
    kernel->by = Py_NewRef(by);
    kernel->call = first_call;
    /* No type is shorter than one letter. */
    kernel->arguments = PyMem_Calloc(strlen(kernel->row->arguments) + 1, sizeof(Type));
    kernel->result = PyMem_Calloc(strlen(kernel->row->result) + 1, sizeof(Type));
    if (!kernel->arguments || !kernel->result) {
        PyErr_NoMemory();
        return -1;
    }
    Type *type = kernel->arguments;
    for (const char *text = kernel->row->arguments; text && *text; kernel->count++, type += type->size) {
        text = read_type(text, type);
        if (!text) break;
        kernel->words_in += words_of(type);
    }
    read_type(kernel->row->result, kernel->result);
    kernel->words_out = words_of(kernel->result);
    return 0;
}

/* What a kernel is not asked for itself is asked of the same kernel in Python. */
static PyObject *kernel_getattro(PyObject *self, PyObject *name) {
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr(((Kernel *)self)->by, name);
}

/* Kernels are pickled by their names, as functions are. */
static PyObject *kernel_reduce(PyObject *self, PyObject *ignored) {
    return PyObject_GetAttrString(((Kernel *)self)->by, "__qualname__");
}

static void kernel_dealloc(PyObject *self) {
    Kernel *kernel = (Kernel *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; kernel->result && i < kernel->result->size; i++) Py_XDECREF(kernel->result[i].class);
    PyMem_Free(kernel->arguments);
    PyMem_Free(kernel->result);
    Py_XDECREF(kernel->dict);
    Py_XDECREF(kernel->by);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, call), READONLY},
    {"calls", T_PYSSIZET, offsetof(Kernel, calls), READONLY},
    {"__dictoffset__", T_PYSSIZET, offsetof(Kernel, dict), READONLY},
    {NULL},
};
static PyGetSetDef kernel_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict},
    {NULL},
};
static PyMethodDef kernel_methods[] = {
    {"__reduce__", kernel_reduce, METH_NOARGS},
    {NULL},
};
static PyType_Slot kernel_slots[] = {
    {Py_tp_init, kernel_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, kernel_getattro},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_members, kernel_members},
    {Py_tp_getset, kernel_properties},
    {Py_tp_methods, kernel_methods},
    {0, NULL},
};
static PyType_Spec kernel_spec = {
    "driftline.kernels.caller.Kernel",
    sizeof(Kernel),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    kernel_slots,
};

/* The module */

static PyObject *open_library(PyObject *self, PyObject *path) {
    PyObject *name;
    if (!PyUnicode_FSConverter(path, &name)) return NULL;
    void *handle = dlopen(PyBytes_AS_STRING(name), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(name);
    const Library *library = handle ? dlsym(handle, "driftline_kernels") : NULL;
    if (!library) return PyErr_Format(PyExc_OSError, "%s", dlerror());
    PyObject *names = PySet_New(NULL);
    for (int i = 0; names && i < library->count; i++) {
        PyObject *each = PyUnicode_FromString(library->rows[i].name);
        if (!each || PySet_Add(names, each) < 0) Py_CLEAR(names);
        Py_XDECREF(each);
    }
    return names ? Py_BuildValue("NN", PyCapsule_New((void *)library, NULL, NULL), names) : NULL;
}

static PyObject *supports(PyObject *self, PyObject *cpu) {
    const char *name = PyUnicode_AsUTF8(cpu);
    if (!name) return NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!strcmp(name, "x86-64-v3")) return PyBool_FromLong(__builtin_cpu_supports("x86-64-v3"));
    if (!strcmp(name, "x86-64-v2")) return PyBool_FromLong(__builtin_cpu_supports("x86-64-v2"));
#elif defined(__aarch64__)
    if (!strcmp(name, "generic")) Py_RETURN_TRUE;
#endif
    Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {
    {"open", open_library, METH_O},
    {"supports", supports, METH_O},
    {NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "caller", NULL, -1, methods};

PyMODINIT_FUNC PyInit_caller(void) {
    import_array();
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module ? PyType_FromSpec(&kernel_spec) : NULL;
    if (!type || PyModule_AddObject(module, "Kernel", type) < 0) {
        Py_XDECREF(type);
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
