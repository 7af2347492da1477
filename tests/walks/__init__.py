"""Random walks over HTTP; their modules assert, so that a failure shows both sides."""

import pytest

pytest.register_assert_rewrite("tests.walks.expected", "tests.walks.walker", "tests.walks.wires")
