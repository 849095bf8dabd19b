"""`tf.make_template`: a function whose first call creates its variables, which all later calls share.

Invariant: after the first call that returns, no call makes a further trainable variable.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.scope import VariableScope, variable_scope
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph

__all__ = ["API", "Template", "make_template"]


class Template:
    """A function whose first call creates its variables; all later calls share them."""

    def __init__(
        self,
        name: str,
        unique_name: str | None,
        function: Callable[..., Any],
        fixed: dict[str, Any],
        custom_getter: Callable[..., Any] | None,
    ) -> None:
        self._name, self._unique_name = name, unique_name
        self._function, self._fixed = function, fixed
        self._custom_getter = custom_getter
        self._scope: VariableScope | None = None
        self._is_filled = False

    def create_scope(self) -> None:
        """Opens the variable scope of the template, once, without a call."""
        with self._open(auxiliary_name_scope=False) as scope:
            self._scope = scope

    def _open(self, **options: Any) -> AbstractContextManager[VariableScope]:
        return variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter, **options)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Calls the function. Raises `InvalidArgumentError` if a later call makes a trainable variable."""
        if self._is_filled:
            before = len(self._in_graph(GraphKeys.TRAINABLE_VARIABLES))
            with variable_scope(self._scope, reuse=True):
                result = self._function(*args, **self._fixed, **kwargs)
            made = self._in_graph(GraphKeys.TRAINABLE_VARIABLES)[before:]
            if made:
                raise InvalidArgumentError(
                    "New variable(s) created when calling a template after the first time, perhaps you used "
                    f"tf.Variable when you meant tf.get_variable: {[v.name for v in made]}"
                )
            return result
        with self._open() if self._scope is None else variable_scope(self._scope) as scope:
            self._scope = scope if self._scope is None else self._scope
            result = self._function(*args, **self._fixed, **kwargs)
        self._is_filled = True
        return result

    def _in_graph(self, collection: str) -> list[Any]:
        return get_default_graph().get_collection(collection)

    def _in_scope(self, collection: str) -> list[Any]:
        return [] if self._scope is None else self._scope.get_collection(collection)

    @property
    def name(self) -> str:
        """The name that was given to the template."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function that calls run."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables, or None before the first call."""
        return self._scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope of the variables, or None before the first call."""
        return None if self._scope is None else self._scope.name

    @property
    def global_variables(self) -> list[Any]:
        """The global variables that the calls have created."""
        return self._in_scope(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The variables of this process that the calls have created."""
        return self._in_scope(GraphKeys.LOCAL_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        """The global variables, then the local ones."""
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables that the calls have created."""
        return self._in_scope(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that are not trainable."""
        trained = {id(v) for v in self.trainable_variables}
        return [v for v in self.variables if id(v) not in trained]


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: object,
) -> Template:
    """Returns `func_` as a `Template`: its first call creates variables in the scope `name_`, which all calls share.

    create_scope_now_: open the scope here and not at the first call. unique_name_: the scope's name as it is, where
    `name_` is made unique. custom_getter_: that of the scope. `kwargs` are passed to each call. Raises
    `InvalidArgumentError` without a name and `DTypeError` for an object that is not callable.
    """
    if name_ is None:
        raise InvalidArgumentError("make_template: name cannot be None.")
    if not callable(func_):
        raise DTypeError(f"make_template: needed a function, got {func_!r}")
    template = Template(name_, unique_name_, func_, kwargs, custom_getter_)
    if create_scope_now_:
        template.create_scope()
    return template


API: dict[str, Any] = {"make_template": make_template}
