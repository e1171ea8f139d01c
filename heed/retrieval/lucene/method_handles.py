"""Small programs that run inside Java, put together from Java's method handles (``java.lang.invoke``).

A call from Python into Java costs microseconds, which a loop over millions of postings or documents cannot pay. Java
compiles a loop of method handles like any code of its own, and it costs one call. The alternative, a class of our
own, would have to be compiled and shipped: the Java runtime that pip installs has no compiler.

A handle is a typed function. The functions here are short names for those of Java's ``MethodHandles``; each program
(:mod:`heed.retrieval.lucene.writer`, :mod:`heed.retrieval.lucene.postings_export`) says in its docstring which Java
source it stands for. Types are written ``int``, ``[B`` (an array of bytes) or as a class's full name.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from heed.retrieval.lucene.jvm import cast, java

STRING = "java.lang.String"
_BOXES = {"int": "Integer", "long": "Long", "byte": "Byte", "boolean": "Boolean", "void": "Void"}


def method_handles() -> Any:
    """Return Java's ``MethodHandles``, which makes loops and branches."""
    return java("java.lang.invoke.MethodHandles")


def method(owner: str, name: str, result: str, *parameters: str) -> Any:
    """Return a method of a class as a handle; the object it is called on becomes its first parameter."""
    return _lookup().findVirtual(java_type(owner), name, signature(result, *parameters))


def static_method(owner: str, name: str, result: str, *parameters: str) -> Any:
    """Return a static method of a class as a handle."""
    return _lookup().findStatic(java_type(owner), name, signature(result, *parameters))


def constructor(owner: str, *parameters: str) -> Any:
    """Return a constructor of a class as a handle."""
    return _lookup().findConstructor(java_type(owner), signature("void", *parameters))


def getter(owner: str, name: str, field_type: str) -> Any:
    """Return a handle that reads the field ``name`` of an object."""
    return _lookup().findGetter(java_type(owner), name, java_type(field_type))


def compose(handle: Any, position: int, source: Any) -> Any:
    """Return ``handle`` whose argument at ``position`` is the result of ``source``.

    The parameters of ``source`` take the place of that parameter: ``f(a, b)`` and ``g(x, y)`` at 1 give
    ``(a, x, y) -> f(a, g(x, y))``.
    """
    return method_handles().collectArguments(handle, position, source)


def bind(handle: Any, position: int, value: Any) -> Any:
    """Return ``handle`` with ``value``, a Java object, as its argument at ``position``."""
    return method_handles().insertArguments(handle, position, value)


def with_parameters(handle: Any, parameters: Sequence[str], *positions: int) -> Any:
    """Return a handle with ``parameters`` that calls ``handle`` with those at ``positions``, in that order."""
    result = cast("java.lang.Class", handle.type().returnType())
    return method_handles().permuteArguments(handle, _signature(result, parameters), *positions)


def in_sequence(*steps: Any) -> Any:
    """Return a handle that calls all of ``steps`` with its own arguments and returns what the last returns."""
    program = steps[-1]
    for step in steps[-2::-1]:
        program = method_handles().foldArguments(program, step)
    return program


def count_loop(count: Any, body: Any) -> Any:
    """Return ``for (int i = 0; i < count(…); i++) body(i, …)``."""
    return method_handles().countedLoop(count, None, body)


def convert(handle: Any, result: str, *parameters: str) -> Any:
    """Return ``handle`` with other types, which are cast to its own."""
    return handle.asType(signature(result, *parameters))


def signature(result: str, *parameters: str) -> Any:
    """Return Java's ``MethodType`` of a result and parameters."""
    return _signature(java_type(result), parameters)


@cache
def java_type(name: str) -> Any:
    """Return the type of that name as Java's ``Class``."""
    return java(f"java.lang.{_BOXES[name]}").TYPE if name in _BOXES else java("java.lang.Class").forName(name)


def java_int(value: int) -> Any:
    """Return a Java ``int`` as an object."""
    return java("java.lang.Integer")(value)


def java_list(*values: Any) -> Any:
    """Return Java objects as the ``List`` that ``invokeWithArguments`` takes."""
    values_list = java("java.util.ArrayList")()
    for value in values:
        values_list.add(value)
    return cast("java.util.List", values_list)  # else pyjnius calls another overload, for an array


def _signature(result: Any, parameters: Sequence[str]) -> Any:
    types = java_list(*(java_type(name) for name in parameters))
    return java("java.lang.invoke.MethodType").methodType(result, types)


@cache
def _lookup() -> Any:
    return method_handles().publicLookup()
