/* The floors: the system work that nobody can go below, without any library around it.
 * Compiled by bench/floors.py with the system's compiler against NumPy's headers.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <errno.h>
#include <fcntl.h>
#include <numpy/arrayobject.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 256,
    HUGE_PAGE_BYTES = 2 << 20,
    READ_BYTES = 8 << 20, /* larger pieces are not read faster */
    MOST_THREADS = 64,
};

/* F1: open, fstat, one pread of 256 bytes per initializer, close. */
static PyObject* read_headers(PyObject* self, PyObject* args) {
    const char* path;
    Py_buffer offsets;
    if (!PyArg_ParseTuple(args, "sy*", &path, &offsets)) return NULL;
    const int64_t* offset = offsets.buf;
    const Py_ssize_t count = offsets.len / (Py_ssize_t)sizeof *offset;
    unsigned char header[HEADER_BYTES];
    struct stat status;
    unsigned long first_bytes = 0; /* of use to nobody, but the reads cannot be left out */
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    failed = descriptor < 0 || fstat(descriptor, &status) != 0;
    for (Py_ssize_t i = 0; i < count && !failed; ++i) {
        failed = pread(descriptor, header, HEADER_BYTES, offset[i]) <= 0;
        first_bytes += header[0];
    }
    if (descriptor >= 0) close(descriptor);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&offsets);
    if (failed) return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    return PyLong_FromUnsignedLong(first_bytes);
}

/* The file mapped as anybody would, with the read-ahead that is usual, and every header looked at. */
static PyObject* mapped_headers(PyObject* self, PyObject* args) {
    const char* path;
    Py_buffer offsets;
    if (!PyArg_ParseTuple(args, "sy*", &path, &offsets)) return NULL;
    const int64_t* offset = offsets.buf;
    const Py_ssize_t count = offsets.len / (Py_ssize_t)sizeof *offset;
    struct stat status;
    unsigned long bytes = 0; /* as above */
    const unsigned char* mapped = MAP_FAILED;
    Py_BEGIN_ALLOW_THREADS;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    }
    if (mapped != MAP_FAILED) {
        for (Py_ssize_t i = 0; i < count; ++i) {
            const int64_t end =
                offset[i] + HEADER_BYTES < status.st_size ? offset[i] + HEADER_BYTES : status.st_size;
            for (int64_t at = offset[i]; at < end; ++at) bytes += mapped[at];
        }
        munmap((void*)mapped, (size_t)status.st_size);
    }
    if (descriptor >= 0) close(descriptor);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&offsets);
    if (mapped == MAP_FAILED) return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    return PyLong_FromUnsignedLong(bytes);
}

/* F2: N bare PyArray_NewFromDescr over one buffer into a dict; no base keeps the buffer alive. */
static PyObject* bare_arrays(PyObject* self, PyObject* args) {
    PyObject *names, *descr;
    Py_buffer buffer, offsets, ranks, extents;
    if (!PyArg_ParseTuple(args, "O!O!y*y*y*y*", &PyList_Type, &names, &PyArrayDescr_Type, &descr,
                          &buffer, &offsets, &ranks, &extents)) {
        return NULL;
    }
    const Py_ssize_t count = PyList_GET_SIZE(names);
    const int64_t* offset = offsets.buf;
    const int64_t* rank = ranks.buf;
    npy_intp* extent = extents.buf; /* all shapes one after another */
    PyObject* arrays = PyDict_New();
    for (Py_ssize_t i = 0; i < count && arrays; ++i) {
        Py_INCREF(descr); /* PyArray_NewFromDescr takes a reference of its own */
        PyObject* array =
            PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr*)descr, (int)rank[i], extent, NULL,
                                 (char*)buffer.buf + offset[i], 0, NULL);
        extent += rank[i];
        if (!array || PyDict_SetItem(arrays, PyList_GET_ITEM(names, i), array) < 0) {
            Py_CLEAR(arrays);
        }
        Py_XDECREF(array);
    }
    PyBuffer_Release(&buffer);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&ranks);
    PyBuffer_Release(&extents);
    return arrays;
}

/* What the threads of F3 share. */
typedef struct {
    int descriptor;
    int64_t begin; /* of the bytes in the file */
    int64_t nbytes;
    char* destination;
    _Atomic int64_t next; /* the first byte that no thread has taken yet, from `begin` on */
    atomic_int error;     /* the errno of a thread that failed */
} Reading;

static void* read_pieces(void* argument) {
    Reading* reading = argument;
    int64_t piece;
    while ((piece = atomic_fetch_add(&reading->next, READ_BYTES)) < reading->nbytes) {
        const int64_t end =
            piece + READ_BYTES < reading->nbytes ? piece + READ_BYTES : reading->nbytes;
        while (piece < end) {
            const ssize_t got = pread(reading->descriptor, reading->destination + piece,
                                      (size_t)(end - piece), reading->begin + piece);
            if (got <= 0) { /* an end of the file before that of the bytes is an error, too */
                atomic_store(&reading->error, got < 0 ? errno : EIO);
                return NULL;
            }
            piece += got;
        }
    }
    return NULL;
}

static void unmap(PyObject* owner) {
    const size_t* nbytes = PyCapsule_GetContext(owner);
    munmap(PyCapsule_GetPointer(owner, NULL), *nbytes);
    PyMem_Free((void*)nbytes);
}

/* New memory of huge pages as an array of bytes. */
static PyObject* huge_memory(npy_intp nbytes) {
    /* One huge page more, so that the first one can begin on a boundary. */
    size_t* mapped_bytes = PyMem_Malloc(sizeof *mapped_bytes);
    if (!mapped_bytes) return PyErr_NoMemory();
    *mapped_bytes = (size_t)nbytes + HUGE_PAGE_BYTES;
    char* mapped = mmap(NULL, *mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        PyMem_Free(mapped_bytes);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    madvise(mapped, *mapped_bytes, MADV_HUGEPAGE); /* without them it is slower, and still right */
    PyObject* owner = PyCapsule_New(mapped, NULL, unmap);
    if (!owner || PyCapsule_SetContext(owner, mapped_bytes) != 0) {
        Py_XDECREF(owner);
        return NULL;
    }
    char* aligned = mapped + (HUGE_PAGE_BYTES - (uintptr_t)mapped % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    PyObject* array = PyArray_SimpleNewFromData(1, &nbytes, NPY_UINT8, aligned);
    if (!array) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject*)array, owner) != 0) Py_CLEAR(array);
    return array;
}

/* F3: threads that pread the same bytes into new memory of huge pages. */
static PyObject* read_into_huge_pages(PyObject* self, PyObject* args) {
    const char* path;
    Py_ssize_t begin, nbytes;
    int threads;
    if (!PyArg_ParseTuple(args, "snni", &path, &begin, &nbytes, &threads)) return NULL;
    if (threads < 1 || threads > MOST_THREADS) {
        return PyErr_Format(PyExc_ValueError, "1 to %d threads", MOST_THREADS);
    }
    PyObject* array = huge_memory(nbytes);
    if (!array) return NULL;
    Reading reading = {.begin = begin, .nbytes = nbytes};
    reading.destination = PyArray_DATA((PyArrayObject*)array);
    Py_BEGIN_ALLOW_THREADS;
    reading.descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (reading.descriptor < 0) {
        reading.error = errno;
    } else {
        pthread_t others[MOST_THREADS];
        int started = 0; /* where a thread cannot be started, the others read its share */
        while (started < threads - 1 &&
               pthread_create(&others[started], NULL, read_pieces, &reading) == 0) {
            ++started;
        }
        read_pieces(&reading);
        while (started > 0) pthread_join(others[--started], NULL);
        close(reading.descriptor);
    }
    Py_END_ALLOW_THREADS;
    if (reading.error) {
        Py_DECREF(array);
        errno = reading.error;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    }
    return array;
}

/* F4: copy_file_range of a whole file into a new one, and fsync if `sync` is true. */
static PyObject* copy_file(PyObject* self, PyObject* args) {
    const char *source_path, *path;
    int sync;
    if (!PyArg_ParseTuple(args, "ssp", &source_path, &path, &sync)) return NULL;
    struct stat status;
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    const int source = open(source_path, O_RDONLY | O_CLOEXEC);
    const int copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    failed = source < 0 || copy < 0 || fstat(source, &status) != 0;
    off_t rest = failed ? 0 : status.st_size;
    while (rest > 0 && !failed) {
        const ssize_t copied = copy_file_range(source, NULL, copy, NULL, (size_t)rest, 0);
        if (copied == 0) errno = EIO; /* the source became shorter */
        failed = copied <= 0;
        rest -= copied;
    }
    if (!failed && sync) failed = fsync(copy) != 0;
    const int error = errno; /* of the step that failed, not of close */
    if (source >= 0) close(source);
    if (copy >= 0 && close(copy) != 0 && !failed) {
        failed = 1;
    } else {
        errno = error;
    }
    Py_END_ALLOW_THREADS;
    if (failed) return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    return PyLong_FromLongLong(status.st_size);
}

/* F5: a memory copy, and with it the page faults if the destination is new. */
static PyObject* copy_memory(PyObject* self, PyObject* args) {
    PyObject *source, *destination = NULL;
    if (!PyArg_ParseTuple(args, "O!|O!", &PyArray_Type, &source, &PyArray_Type, &destination)) {
        return NULL;
    }
    npy_intp nbytes = PyArray_NBYTES((PyArrayObject*)source);
    if (destination && PyArray_NBYTES((PyArrayObject*)destination) != nbytes) {
        return PyErr_Format(PyExc_ValueError, "the arrays differ in size");
    }
    if (destination) {
        Py_INCREF(destination);
    } else { /* like every large array of NumPy's, this one asks for huge pages */
        destination = PyArray_SimpleNew(1, &nbytes, NPY_UINT8);
        if (!destination) return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    memcpy(PyArray_DATA((PyArrayObject*)destination), PyArray_DATA((PyArrayObject*)source),
           (size_t)nbytes);
    Py_END_ALLOW_THREADS;
    return destination;
}

static PyMethodDef methods[] = {
    {"read_headers", read_headers, METH_VARARGS, "F1: (path, int64 offsets)"},
    {"mapped_headers", mapped_headers, METH_VARARGS, "(path, int64 offsets)"},
    {"read_into_huge_pages", read_into_huge_pages, METH_VARARGS,
     "F3: (path, begin, nbytes, threads)"},
    {"bare_arrays", bare_arrays, METH_VARARGS,
     "F2: (names, dtype, buffer, int64 offsets, int64 ranks, int64 extents)"},
    {"copy_file", copy_file, METH_VARARGS, "F4: (source path, path of a new file, sync)"},
    {"copy_memory", copy_memory, METH_VARARGS, "F5: (source, destination or none for a new one)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_bench_floors", NULL, -1, methods,
                                    NULL,                  NULL,            NULL, NULL};

PyMODINIT_FUNC PyInit__bench_floors(void) {
    import_array();
    return PyModule_Create(&module);
}
