"""Where credentials may stand: not in URLs, which are shown; and which options are such."""

from __future__ import annotations

import re

from versioned_catalog.errors import InvalidRequestError

_IN_URL = re.compile(r"://[^/@]*:[^/@]*@")
_SECRET = re.compile(r"(?i)key|secret|token|passw|credential|signature|sas|connection_string")

WAY_OUT = (
    "give credentials by the environment (such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), a "
    "profile or the machine's role"
)


def check_url(url: str) -> None:
    """Refuse a URL that holds a user's password: URLs stand in plans, logs and errors.

    Raises:
        InvalidRequestError: it does; it is not repeated.
    """
    if _IN_URL.search(url):
        raise InvalidRequestError(f"the URL holds credentials, and would be shown; {WAY_OUT}")


def is_secret(option: str) -> bool:
    """Whether what a storage option of that name holds is likely a secret."""
    return _SECRET.search(option) is not None
