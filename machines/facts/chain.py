"""The hash chains that order the log: of an invocation, a root and a session's runs (BYTE-5).

Every value is a digest in hex. It enters the next one as its 64 ASCII characters.
"""

from .digests import Domain, digest, u64be
from .model import Spine


def chain_start(spine: Spine) -> str:
    """Return the chain value of an invocation before its first fact (BYTE-5)."""
    return digest(
        Domain.CHAIN_START,
        spine.session.encode(),
        spine.invocation.encode(),
        spine.run.encode(),
        spine.turn.encode(),
    )


def chain_next(previous: str, body: bytes, stamp: bytes) -> str:
    """Return the chain value of a fact with these canonical bytes (BYTE-5a)."""
    return digest(Domain.CHAIN, previous.encode(), body, stamp)


def root_start(root: str) -> str:
    """Return the root chain value before ordinal 1 (BYTE-5a)."""
    return digest(Domain.ROOT_CHAIN_START, root.encode())


def root_next(previous: str, ordinal: int, chain: str) -> str:
    """Return the root chain value at `ordinal`, which binds commit order to the facts (BYTE-5a).

    Args:
        previous: The root chain value at `ordinal - 1`.
        ordinal: From 1, without gaps.
        chain: The chain value of the fact committed at `ordinal`.
    """
    return digest(Domain.ROOT_CHAIN, previous.encode(), u64be(ordinal), chain.encode())


def context_start(session: str) -> str:
    """Return the session digest before any inline run has closed (CONT-1)."""
    return digest(Domain.SESSION_CONTEXT_START, session.encode())


def context_next(previous: str, head: str) -> str:
    """Return the session digest after the inline run whose last chain value is `head` (CONT-1)."""
    return digest(Domain.SESSION_CONTEXT, previous.encode(), head.encode())
