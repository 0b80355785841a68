"""Hypothesis runs by profile: `ci` repeats itself exactly, `deep` searches anew each time.

`ci` is the default, so that a red run is red again on every machine. Take the other one with
`pytest --hypothesis-profile=deep`.
"""

from hypothesis import settings

# No deadlines: on a busy two-core machine they measure the neighbours, not the code.
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=60, stateful_step_count=30, print_blob=True
)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, stateful_step_count=80, print_blob=True
)
settings.load_profile("ci")
