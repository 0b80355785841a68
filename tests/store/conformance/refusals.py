"""What must be refused is seen to leave nothing behind."""

import pytest

from crashworthy.machines.facts.codes import Code, CrashworthyError
from crashworthy.store.journal.orders import Order

from ..tale import Tale


def refusal(tale: Tale, order: Order[object]) -> Code:
    """Carry out what must be refused, and see that nothing of it is kept."""
    before = tale.view(lambda view: view.last())
    with pytest.raises(CrashworthyError) as caught:
        tale.do(order)
    assert tale.view(lambda view: view.last()) == before
    return caught.value.code
