"""What looks like a credential is taken out of text that only people read (OWN-7)."""

import re
from typing import Final

REDACTED: Final = "[redacted]"

_SECRETS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"\bey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # a signed web token
        r"\b(?:sk|pk|rk|ghp|gho|ghs|ghr|glpat|xox[abprs]|npm|pypi|hf)[-_][A-Za-z0-9_-]{8,}",
        r"\bgithub_pat_[A-Za-z0-9_]{8,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}",
        r"\bAIza[A-Za-z0-9_-]{20,}",
    )
)
_SCHEME: Final = re.compile(r"(?i)\b(bearer|basic|token)(\s+)[A-Za-z0-9+/=._~-]{8,}")
_USERINFO: Final = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+@")
_STATED: Final = re.compile(
    r"(?i)\b([\w.-]*(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|authorization|"
    r"private[_-]?key|access[_-]?key)[\w-]*[\"']?\s*(?:=|:)\s*)"
    r"(\"[^\"\n]*\"|'[^'\n]*'|[^\s,;&\"')}\]]+)"
)


def redacted(text: str) -> str:
    """Return `text` without what looks like a credential: by its own form, or by its name.

    No rule finds every secret; so what a text is not needed for, it is not written for either.
    """
    for secret in _SECRETS:
        text = secret.sub(REDACTED, text)
    text = _SCHEME.sub(rf"\1\2{REDACTED}", text)
    text = _USERINFO.sub(rf"\1{REDACTED}@", text)
    return _STATED.sub(rf"\1{REDACTED}", text)
