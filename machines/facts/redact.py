"""What looks like a credential is taken out of text that only people read (OWN-7)."""

import re
from typing import Final

REDACTED: Final = "[redacted]"

# Text comes from outside, of any length and content, and is read beside the scheduler. So no
# pattern may try one place twice as often in a text twice as long: what repeats without a bound
# begins where such a run begins and nowhere inside of it, and gives nothing back (`*+`).
_PEM: Final = "[A-Z ]{0,64}PRIVATE KEY(?: BLOCK)?-----"
_PREFIXES: Final = (
    "sk|pk|rk|gh[oprsu]|glpat|glsa|xox[abeprs]|xapp|npm|pypi|hf|gsk|xai|pplx|r8|nvapi|tvly|shpat"
    "|whsec|dop_v1|lin_api"
)
_SECRETS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"-----BEGIN {_PEM}[\s\S]*?(?:-----END {_PEM}|\Z)",
        # A signed web token.
        r"(?<![A-Za-z0-9_-])ey[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",
        rf"\b(?:{_PREFIXES})[-_][A-Za-z0-9_-]{{8,}}+",
        r"\bgithub_pat_[A-Za-z0-9_]{8,}+",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}+",
        r"\bAIza[A-Za-z0-9_-]{20,}+",
        r"\bya29\.[A-Za-z0-9_-]{20,}+",
        r"\bSG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",
    )
)
_SCHEME: Final = re.compile(r"(?i)\b(bearer|basic|token)(\s++)[A-Za-z0-9+/=._~-]{8,}+")
# The last `@` before the path ends it: a password may hold one as well. A name alone is a secret
# only where it is sent as one.
_USERINFO: Final = re.compile(r"(?i)((?<=http)://|(?<=https)://|://(?=[^\s/?#@:]*+:))[^\s/?#]*@")
_NAMES: Final = (
    r"api[ _-]?key|secret|token(?!s)|passw(?:or)?d|passphrase|pwd|credential|signature"
    r"|(?:private|access|account)[_-]?key"
)
_QUOTED: Final = r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"
_NESTED: Final = r"\\++[\"'][^\"'\\\n]*+"
"""A quoted text inside of another."""
_NOT_YET: Final = rf"(?!{re.escape(REDACTED)})"
_HEADERS: Final = re.compile(
    r"(?i)((?:authorization|cookie)\\{0,4}[\"']?(?:\s*+[:=]\s*+|\s*+,\s*+(?=b?[\"'])))"
    rf"{_NOT_YET}(?:b?(?:{_QUOTED})|{_NESTED}|[^\n\"'\\]++)"
)
_STATED: Final = re.compile(
    rf"(?i)((?:{_NAMES}|[?&](?:key|sig|auth|code)(?==)|\b[A-Z0-9]{{1,64}}_key(?=\s*+=))"
    # Its name may go on; then follow a mark, a comma between two quoted texts, or words.
    r"[\w-]{0,64}+(?:\\{0,4}[\"']?\s*+(?:=|:)>?\s*+|[\"']\s*+,\s*+(?=b?[\"'])"
    r"|\s++(?:provided|is|was)?\s*+:?\s*+(?=b?[\"'])|\s++provided\s*+:\s*+))"
    rf"{_NOT_YET}(?:b?(?:{_QUOTED})|{_NESTED}|[^\s,;&\"')}}\]]++)"
)
_OPTION: Final = re.compile(rf"(?i)(--(?:[a-z0-9]{{1,32}}-){{0,4}}(?:{_NAMES})\s++)[^\s\"']++")


def redacted(text: str) -> str:
    """Return `text` without what looks like a credential: by its own form, or by its name.

    No rule finds every secret; so what a text is not needed for, it is not written for either.
    """
    text = _HEADERS.sub(rf"\1{REDACTED}", text)
    for secret in _SECRETS:
        text = secret.sub(REDACTED, text)
    text = _SCHEME.sub(rf"\1\2{REDACTED}", text)
    text = _USERINFO.sub(rf"\1{REDACTED}@", text)
    text = _OPTION.sub(rf"\1{REDACTED}", text)
    return _STATED.sub(rf"\1{REDACTED}", text)
