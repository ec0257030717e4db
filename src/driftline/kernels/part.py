"""One part of the library of kernels, compiled in a process of its own.

What is internal to Numba is used here and nowhere else.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.codegen import AOTCodeLibrary, AOTCPUCodegen
from numba.core.registry import cpu_target
from numba.np.numpy_support import as_dtype

from driftline.kernels.jit import Kernel
from driftline.kernels.signatures import ArrayOf, Nothing, Number, TupleType, Type
from driftline.kernels.stamps import stamp

__all__ = ["CannotBuild", "LibraryEntry", "compile_part", "kernels", "report_to"]

WORD, STATUS = ir.IntType(64), ir.IntType(32)
# Their types are not stated.
_UntypedLibrary: Any = AOTCodeLibrary
_UntypedCodegen: Any = AOTCPUCodegen
_utils: Any = cgutils
_types: Any = types


UNWRAPPING = "__excinfo_unwrap_args"
"""In the name of a function that Numba makes for an error whose arguments are computed."""

HOMES = ("driftline.model", "driftline.event_log", "driftline.time", "driftline.engine")
"""The packages of Driftline that have kernels."""


class CannotBuild(Exception):
    """What is needed to build is missing, or a kernel cannot be compiled."""


class LibraryEntry(NamedTuple):
    """A kernel in the table of the library."""

    name: str
    stamp: str
    arguments: str
    result: str
    symbol: str


def kernels(homes: Sequence[str] = HOMES) -> dict[str, Kernel[..., Any]]:
    """All kernels of some packages or modules that are called, by their names."""
    for home in homes:
        module = importlib.import_module(home)
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{home}."):
            importlib.import_module(found.name)
    inside = tuple(f"{home}." for home in homes)
    return {name: each for name, each in Kernel.called.items() if name.startswith(inside)}


class _Library(_UntypedLibrary):  # type: ignore[misc]
    """Code that is linked and optimised with all other code, in the end."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def optimize(self) -> None:
        """Optimise it now: functions first, in which counts of references are found to be of no use
        only when their variables are no memory any more."""
        super()._optimize_functions(self._final_module)
        self._optimize_final_module()


class _Codegen(_UntypedCodegen):  # type: ignore[misc]
    _library_class = _Library


class _Linked:
    """The code of kernels, before it is optimised, and an entry to each."""

    def __init__(self) -> None:
        self.context: Any = cpu_target.target_context
        self.context.refresh()
        self.context._internal_codegen = _Codegen("kernels")
        self.context.get_executable = lambda *_: [].clear  # nothing calls it; each is another one
        Kernel.options_of_build = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self.libraries: dict[int, Any] = {}
        self.entries: list[Any] = []

    def add(self, kernel: Kernel[..., Any], symbol: str) -> Type:
        """Compile a kernel, with an entry of that name. What it returns."""
        made = kernel.compiled()
        (found,) = made.overloads.values()
        if any(UNWRAPPING in each.name for each in found.library._final_module.functions):
            raise TypeError("the arguments of an error that it raises are no constants")
        self._take(found.library)
        self.entries.append(self._entry(found, symbol))
        return _stated(found.signature.return_type)

    def _take(self, library: Any) -> None:
        if id(library) not in self.libraries:
            self.libraries[id(library)] = library
            for each in getattr(library, "_linking_libraries", ()):
                self._take(each)

    def module(self) -> bytes:
        """All code as one module, in which nothing but the entries can be seen."""
        linked = binding.parse_assembly(str(self.context.create_module("kernels")))
        for library in self.libraries.values():
            module = library._final_module.clone()
            for function in module.functions:
                if not function.is_declaration and function.linkage.name != "internal":
                    function.linkage = "weak_odr"  # the same in each, and kept
            linked.link_in(module)
        for entry in self.entries:
            linked.link_in(binding.parse_assembly(str(entry)))
        names = {entry.name for entry in self.entries}
        for each in [*linked.functions, *linked.global_variables]:
            if not each.is_declaration and each.name not in names:
                each.linkage = "internal"
        linked.verify()
        return bytes(linked.as_bitcode())

    def machine_code(self, module: bytes, baseline: str) -> bytes:
        """An object file for a processor."""
        codegen = _Codegen("kernels", cpu_name=baseline)
        library = codegen.create_library("kernels")
        library._final_module = binding.parse_bitcode(module)
        library.optimize()
        return bytes(codegen._tm.emit_object(library._final_module))

    # int f(int64 *in, int64 *out): 0, or else where the failure is described is the first of out

    def _entry(self, compiled: Any, symbol: str) -> Any:
        context, described = self.context, compiled.fndesc
        module = context.create_module(symbol)
        callee = context.declare_function(module, described)
        kind = ir.FunctionType(STATUS, [WORD.as_pointer(), WORD.as_pointer()])
        function = ir.Function(module, kind, symbol)
        builder = ir.IRBuilder(function.append_basic_block())
        words = self._words(builder, function.args[0])
        arguments = [self._read(builder, each, words) for each in described.argtypes]
        ended, result = context.call_conv.call_function(
            builder, callee, described.restype, described.argtypes, arguments
        )
        with _utils.if_likely(builder, ended.is_ok):
            words = self._words(builder, function.args[1])
            self._write(builder, described.restype, result, words)
            builder.ret(ir.Constant(STATUS, 0))
        words = self._words(builder, function.args[1])
        builder.store(builder.ptrtoint(ended.excinfoptr, WORD), next(words))
        builder.ret(ended.code)
        return module

    def _words(self, builder: Any, pointer: Any) -> Iterator[Any]:
        place = 0
        while True:
            yield builder.gep(pointer, [ir.Constant(WORD, place)])
            place += 1

    def _read(self, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
        """A value of Numba's, from the words that `caller.c` makes of it."""
        context = self.context
        if isinstance(kind, _types.BaseTuple):
            value = _utils.get_null_value(context.get_value_type(kind))
            for place, item in enumerate(kind.types):
                value = builder.insert_value(value, self._read(builder, item, words), place)
            return value
        if isinstance(kind, _types.Array):
            array = context.make_array(kind)(context, builder)
            array.meminfo = builder.inttoptr(builder.load(next(words)), array.meminfo.type)
            array.data = builder.inttoptr(builder.load(next(words)), array.data.type)
            array.parent = _utils.get_null_value(array.parent.type)
            shape = [builder.load(next(words)) for _ in range(kind.ndim)]
            strides = [builder.load(next(words)) for _ in range(kind.ndim)]
            items = ir.Constant(WORD, 1)
            for length in shape:
                items = builder.mul(items, length)
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            array.nitems, array.itemsize = items, ir.Constant(WORD, size)
            array.shape = _utils.pack_array(builder, shape, WORD)
            array.strides = _utils.pack_array(builder, strides, WORD)
            return array._getvalue()
        value, wanted = builder.load(next(words)), context.get_value_type(kind)
        if isinstance(kind, _types.Float):
            return builder.bitcast(value, wanted)
        return value if wanted.width == WORD.width else builder.trunc(value, wanted)

    def _write(self, builder: Any, kind: Any, value: Any, words: Iterator[Any]) -> None:
        context = self.context
        if isinstance(kind, _types.NoneType):
            return
        if isinstance(kind, _types.BaseTuple):
            for place, item in enumerate(kind.types):
                self._write(builder, item, builder.extract_value(value, place), words)
        elif isinstance(kind, _types.Array):
            array = context.make_array(kind)(context, builder, value=value)
            for pointer in (array.meminfo, array.data):
                builder.store(builder.ptrtoint(pointer, WORD), next(words))
            for numbers in (array.shape, array.strides):
                for number in _utils.unpack_tuple(builder, numbers, kind.ndim):
                    builder.store(number, next(words))
        elif isinstance(kind, _types.Float):
            builder.store(builder.bitcast(value, WORD), next(words))
        elif value.type.width == WORD.width:
            builder.store(value, next(words))
        else:
            is_signed = isinstance(kind, _types.Integer) and kind.signed
            wider = (builder.sext if is_signed else builder.zext)(value, WORD)
            builder.store(wider, next(words))


def _stated(kind: Any) -> Type:
    """A type of Numba's in our words."""
    kind = _types.unliteral(kind)
    if isinstance(kind, _types.NoneType):
        return Nothing()
    if isinstance(kind, _types.BaseTuple):
        return TupleType(tuple(map(_stated, kind.types)), getattr(kind, "instance_class", None))
    if isinstance(kind, _types.Array):
        dtype: np.dtype[Any] = as_dtype(kind.dtype)
        return ArrayOf(dtype.str[1:], kind.ndim, not kind.mutable)
    if isinstance(kind, _types.Integer | _types.Boolean) or kind == _types.float64:
        dtype = as_dtype(kind)
        return Number(dtype.str[1:])
    raise TypeError(f"no kernel can return {kind}")


_reports: Any = None
"""Where a process that builds says which kernel it has come to."""


def report_to(queue: Any) -> None:
    """Begin a process that builds."""
    global _reports  # noqa: PLW0603
    _reports = queue
    gc.set_threshold(100_000, 20, 100)  # what Numba makes is kept to the end


def compile_part(
    number: int, names: list[str], baselines: Sequence[str], into: Path, homes: Sequence[str]
) -> list[LibraryEntry]:
    """Compile some kernels into DIR/NUMBER-BASELINE.o."""
    known, linked, rows = kernels(homes), _Linked(), list[LibraryEntry]()
    for place, name in enumerate(names):
        _reports.put(name)
        kernel, symbol = known[name], f"kernel_{number}_{place}"
        try:
            result = linked.add(kernel, symbol)
        except Exception as error:
            raise CannotBuild(f"the kernel {name} cannot be compiled: {error}") from None
        arguments = "".join(map(str, kernel.types))
        rows.append(LibraryEntry(name, stamp(kernel), arguments, str(result), symbol))
    module = linked.module()
    for baseline in baselines:
        _reports.put(f"machine code for {baseline}")
        (into / f"{number}-{baseline}.o").write_bytes(linked.machine_code(module, baseline))
    return rows
