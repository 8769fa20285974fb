"""``python -m jbodlab`` is ``jbodlab``."""

from jbodlab.cli import main

main()
