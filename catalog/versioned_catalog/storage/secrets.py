"""Credentials in URLs and options, which are refused or hidden."""

from __future__ import annotations

import re

from versioned_catalog.errors import InvalidRequestError

_IN_URL = re.compile(r"://[^/@]*:[^/@]*@")
_SECRET = re.compile(r"(?i)key|secret|token|passw|credential|signature|sas|connection_string")

CREDENTIALS_ADVICE = (
    "give credentials by the environment (such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), a "
    "profile or the machine's role"
)


def check_url(url: str) -> None:
    """Refuse a URL with a password: plans, logs and errors show URLs.

    Raises:
        InvalidRequestError: the URL holds a password, which the message does not repeat.
    """
    if _IN_URL.search(url):
        raise InvalidRequestError(
            f"the URL holds credentials, which plans and logs would show; {CREDENTIALS_ADVICE}"
        )


def is_secret(option: str) -> bool:
    """Whether the value of a storage option is probably a secret, by its name."""
    return _SECRET.search(option) is not None


def is_root(option: str) -> bool:
    """Whether a storage option is the URL of an external root: ``root.<name>``."""
    return option.startswith("root.") and option.count(".") == 1


HIDDEN = "***"

_CREDENTIALS = re.compile(r"://[^/\s@]+@")


def without_credentials(text: str) -> str:
    """Hide the user and password in URLs."""
    return _CREDENTIALS.sub(f"://{HIDDEN}@", text)
