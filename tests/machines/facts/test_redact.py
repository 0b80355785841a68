"""Text for people holds no credential that can be told by its form or its name (OWN-7)."""

import time

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
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIEow",
        f"Incorrect API key provided: {SECRET}",
        f"authorization: ApiKey {SECRET}",
        f"Authorization: Digest username=u, response={SECRET}",
        f"headers: [(b'x-api-key', b'{SECRET}'), (b'accept', b'*/*')]",
        f"('Authorization', 'Custom {SECRET}')",
        f'body: "{{\\"api_key\\": \\"{SECRET}\\"}}"',
        f'password="abc\\"{SECRET}"',
        f'password="{SECRET}',
        f"token=b'{SECRET}'",
        f"fatal: unable to access 'https://{SECRET}@github.com/x'",
        f"postgres://user:p@ss{SECRET}@host/db",
        f"https://host/v1beta/models?key={SECRET}",
        f"https://host/blob?se=1&sig={SECRET}",
        f"X-Amz-Signature={SECRET}&x=1",
        f"Set-Cookie: session={SECRET}; path=/",
        f"curl --api-key {SECRET} https://host",
        f"login --password {SECRET}",
        f"ACME_KEY={SECRET}",
        f"AccountName=x;AccountKey={SECRET};EndpointSuffix=core",
        f"Server=h;Uid=u;Pwd={SECRET};",
        f"password '{SECRET}' was refused",
        f"ghu_{'a1B2' * 9}",
        f"gsk_{'a1B2' * 9}",
        f"xai-{'a1B2' * 9}",
        f"ya29.{'a1B2' * 9}",
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
        "max_tokens=4096, prompt_tokens: 33",
        "ssh://git@host/x",
        "",
    ],
)
def test_text_without_a_credential_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


PIECES = (
    *("token", "api_key", "x-api-key", "authorization", "cookie", "--password", "?key", "A_KEY"),
    *("=", ":", ": ", ", ", "'", '"', '\\"', "\\", "b'", " ", "\n", " provided", "[redacted]", "]"),
    *(
        "bearer ",
        "basic ",
        "://",
        "https://",
        "@",
        "/",
        "a:b",
        "ey",
        ".",
        "-",
        "_",
        "sk-",
        "abcdefghi",
    ),
    *("-----BEGIN ", "PRIVATE KEY-----", "-----END ", "AKIA", "A1B2C3D4E5F6", "x", "\t"),
)


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redacted(text)

    assert redacted(once) == once


LONG = 200_000
LINEAR_S = 2.0


@pytest.mark.parametrize(
    "piece",
    [
        *("a.", "x-", "ey-", "a+", "token", "tokentoken ", "a://x:y", "://", "http://:", "@:"),
        *(
            " ",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "eyaaaaaaaa.",
            "sk-",
            "sk_sk",
            "AIza-",
        ),
        *(
            "token='",
            'secret="',
            "api_key-",
            "A_KEY",
            "cookie",
            "cookie,",
            "--password",
            "--a-",
            "\\",
        ),
        *("bearer ", "token \t", "?key", "é", "ya29.", "SG.", "password'", "secret is ", "0"),
    ],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(piece: str) -> None:
    """Text from outside is redacted beside the scheduler: 20 kB of `a.` once took half a minute."""
    texts = (piece * (LONG // len(piece)), f"token{piece * (LONG // len(piece))}")

    began = time.process_time()
    for text in texts:
        redacted(text)

    assert time.process_time() - began < LINEAR_S
