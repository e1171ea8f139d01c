"""A plugin of pytest, ``-p tests.support.core_alone``: no add-on of Heed can be imported in this process."""

import sys

from hardening.addons import ADDONS, Missing

sys.meta_path.insert(0, Missing(ADDONS))
