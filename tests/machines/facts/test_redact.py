"""Text for people holds no credential that can be told by its form or its name (OWN-7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.redact import REDACTED, redacted

SECRET = "Zx9-" + "q7W_" * 6


@pytest.mark.parametrize(
    "text",
    [
        f"401: invalid key sk-{SECRET}",
        f"GET /v1 authorization: Bearer {SECRET} refused",
        f"Authorization: Basic {'QWxhZGRpbg' * 2}== refused",
        f'{{"api_key": "{SECRET}", "model": "m"}}',
        f"OPENAI_API_KEY={SECRET}",
        f"password: {SECRET}, user: u",
        f"client_secret='{SECRET} {SECRET}'",
        f"https://user:{SECRET}@host/path?x=1",
        f"https://host/path?access_token={SECRET}&x=1",
        f"x-auth-token: {SECRET}",
        "AKIAIOSFODNN7EXAMPLE is no key",
        f"ghp_{'a1B2' * 9}",
        f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{'s1G_' * 8}",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEow cut off",
    ],
)
def test_credential_is_taken_out(text: str) -> None:
    shown = redacted(text)

    assert REDACTED in shown
    for secret in (SECRET, "QWxhZGRpbg", "AKIAIOSFODNN7", "a1B2a1B2", "s1G_s1G_", "MIIEow"):
        assert secret not in shown


@pytest.mark.parametrize(
    "text",
    [
        "Connection to 10.0.0.1:443 refused after 3 tokens",
        "max_tokens must be at most 4096",
        "cannot open ~/project/token.py: no such file",
        "https://host:8443/path",
        "the key word 'sk-ip' is short",
        "",
    ],
)
def test_text_without_a_credential_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


@given(st.text())
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redacted(text)

    assert redacted(once) == once
