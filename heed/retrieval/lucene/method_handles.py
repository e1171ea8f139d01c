"""Loops that run inside Java, put together from Java's method handles (``java.lang.invoke``).

A call from Python into Java costs microseconds. A loop of such handles is compiled by Java like any code of its own
and costs one call; every Java runtime can do it, where classes of our own would have to be compiled and shipped.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from heed.retrieval.lucene.jvm import cast, java

STRING = "java.lang.String"
_BOXES = {"int": "Integer", "long": "Long", "byte": "Byte", "boolean": "Boolean", "void": "Void"}


def handles() -> Any:
    """Java's ``MethodHandles``, which has the loops and branches."""
    return java("java.lang.invoke.MethodHandles")


def method(owner: str, name: str, result: str, *arguments: str) -> Any:
    """A method of a class; the object goes before the arguments. Types are ``int``, ``[B`` or a class's full name."""
    return _lookup().findVirtual(kind(owner), name, types(result, *arguments))


def static(owner: str, name: str, result: str, *arguments: str) -> Any:
    """A static method of a class."""
    return _lookup().findStatic(kind(owner), name, types(result, *arguments))


def constructor(owner: str, *arguments: str) -> Any:
    """A constructor of a class."""
    return _lookup().findConstructor(kind(owner), types("void", *arguments))


def getter(owner: str, name: str, of: str) -> Any:
    """What reads a field of an object."""
    return _lookup().findGetter(kind(owner), name, kind(of))


def fed(handle: Any, at: int, source: Any) -> Any:
    """``handle`` with its argument ``at`` computed by ``source``, whose arguments take that one's place."""
    return handles().collectArguments(handle, at, source)


def bound(handle: Any, at: int, value: Any) -> Any:
    """``handle`` with ``value``, a Java object, as its argument ``at``."""
    return handles().insertArguments(handle, at, value)


def taking(handle: Any, shape: Sequence[str], *places: int) -> Any:
    """``handle`` as one with arguments of ``shape``, of which it is given those at ``places``, in that order."""
    result = cast("java.lang.Class", handle.type().returnType())
    return handles().permuteArguments(handle, _types(result, shape), *places)


def in_turn(*steps: Any) -> Any:
    """Handles of the same arguments as one that calls them all and gives back what the last one gives."""
    joined = steps[-1]
    for step in steps[-2::-1]:
        joined = handles().foldArguments(joined, step)
    return joined


def as_type(handle: Any, result: str, *arguments: str) -> Any:
    """``handle`` with other types, which are cast to its own."""
    return handle.asType(types(result, *arguments))


def types(result: str, *arguments: str) -> Any:
    """The type of a handle."""
    return _types(kind(result), arguments)


@cache
def kind(name: str) -> Any:
    """The type of that name as Java's ``Class``."""
    return java(f"java.lang.{_BOXES[name]}").TYPE if name in _BOXES else java("java.lang.Class").forName(name)


def number(value: int) -> Any:
    """A Java ``int``."""
    return java("java.lang.Integer")(value)


def arguments(*values: Any) -> Any:
    """Java objects as what ``invokeWithArguments`` takes."""
    made = java("java.util.ArrayList")()
    for value in values:
        made.add(value)
    return cast("java.util.List", made)  # else pyjnius takes another overload, for an array


def _types(result: Any, shape: Sequence[str]) -> Any:
    return java("java.lang.invoke.MethodType").methodType(result, arguments(*(kind(name) for name in shape)))


@cache
def _lookup() -> Any:
    return handles().publicLookup()
