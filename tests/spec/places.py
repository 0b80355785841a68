"""Where the toys of these tests are, by name."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TOY_MACHINE: Final = "tests.spec.toy_machine"
TOY_CONTRACTS: Final = "tests.spec.toy_contracts"
TOY_FALSE_CONTRACTS: Final = "tests.spec.toy_false_contracts"
