/* The floors: the system work that nobody can go below, without any library around it.
 * Compiled by bench/floors.py with the system's compiler against NumPy's headers.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <errno.h>
#include <fcntl.h>
#include <numpy/arrayobject.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 256 };

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
    {"bare_arrays", bare_arrays, METH_VARARGS,
     "F2: (names, dtype, buffer, int64 offsets, int64 ranks, int64 extents)"},
    {"copy_memory", copy_memory, METH_VARARGS, "F5: (source, destination or none for a new one)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_bench_floors", NULL, -1, methods,
                                    NULL,                  NULL,            NULL, NULL};

PyMODINIT_FUNC PyInit__bench_floors(void) {
    import_array();
    return PyModule_Create(&module);
}
