"""The composed models at their scopes, smallest first; counts are what the explorer found."""

from collections.abc import Callable
from functools import partial
from typing import Final, cast

from ...machines.lifecycles.operation import Mode
from ..obligation import AnyModel, ModelProof, Profile
from .continuation import model as continuation
from .continuation import promises as chained
from .continuation import world as chain
from .messages import model as messages
from .messages import world as queue
from .takeover import model as takeover
from .takeover import promises as owned
from .takeover import world as owners

_OWNERS: Final = ("lease", "host", "session", "run", "request", "operation", "interaction")
_CHAIN: Final = ("lease", "host", "session", "run", "operation", "verdict", "claim", "repair")
_QUEUE: Final = ("lease", "host", "run", "message")


def _takeover(scope: owners.Scope) -> Callable[[], AnyModel]:
    # Registries hold models of many state types, which nobody but the model looks into.
    reached = owned.REACHED if scope.asked else ()
    return lambda: cast("AnyModel", takeover.takeover(scope, reached=reached))


def _continuation(scope: chain.Scope) -> Callable[[], AnyModel]:
    reached = chained.REACHED if scope.continuations > 1 else ()
    return lambda: cast("AnyModel", continuation.continuation(scope, reached=reached))


def _messages(scope: queue.Scope) -> Callable[[], AnyModel]:
    return lambda: cast("AnyModel", messages.messages(scope, reached=messages.REACHED))


_small = partial(ModelProof, kills_mutants=True)
_deep = partial(ModelProof, profile=Profile.DEEP)

MODELS: Final[tuple[ModelProof, ...]] = (
    _small(
        name="takeover, one operation",
        build=_takeover(owners.Scope(modes=(Mode.RECONCILE,), asked=1, epochs=2, requests=1)),
        states=2_133,
        machines=_OWNERS,
    ),
    ModelProof(
        name="takeover, parked by key",
        build=_takeover(owners.Scope(modes=(Mode.IDEMPOTENT,), asked=0, epochs=2, requests=1)),
        states=613,
        machines=_OWNERS,
    ),
    _small(
        name="continuation, one claim",
        build=_continuation(chain.Scope(continuations=1, epochs=2, control=1)),
        states=570,
        machines=_CHAIN,
    ),
    _small(
        name="messages, one",
        build=_messages(queue.Scope(messages=1, turns=1, epochs=2)),
        states=297,
        machines=_QUEUE,
    ),
    ModelProof(
        name="takeover, three owners",
        build=_takeover(owners.Scope(modes=(Mode.REPLAY_SAFE,), asked=1, epochs=3, requests=2)),
        states=29_804,
        machines=_OWNERS,
    ),
    ModelProof(
        name="takeover, unknown beside reconciled",
        build=_takeover(
            owners.Scope(modes=(Mode.RECONCILE, Mode.NEVER), asked=1, epochs=2, requests=1)
        ),
        states=14_208,
        machines=_OWNERS,
    ),
    ModelProof(
        name="takeover, three owners of two operations",
        build=_takeover(
            owners.Scope(modes=(Mode.RECONCILE, Mode.IDEMPOTENT), asked=1, epochs=3, requests=2)
        ),
        states=263_218,
        machines=_OWNERS,
    ),
    ModelProof(
        name="continuation, two claims",
        build=_continuation(chain.Scope(continuations=2, epochs=3, control=2)),
        states=9_082,
        machines=_CHAIN,
    ),
    ModelProof(
        name="messages, two",
        build=_messages(queue.Scope(messages=2, turns=2, epochs=2)),
        states=4_792,
        machines=_QUEUE,
    ),
    _deep(
        name="takeover, four owners of two operations",
        build=_takeover(
            owners.Scope(modes=(Mode.RECONCILE, Mode.IDEMPOTENT), asked=1, epochs=4, requests=2)
        ),
        states=1_120_770,
        machines=_OWNERS,
    ),
    _deep(
        name="continuation, four owners",
        build=_continuation(chain.Scope(continuations=2, epochs=4, control=3)),
        states=31_539,
        machines=_CHAIN,
    ),
    _deep(
        name="messages, three",
        build=_messages(queue.Scope(messages=3, turns=2, epochs=3)),
        states=58_822,
        machines=_QUEUE,
    ),
)
