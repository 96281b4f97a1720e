"""`python -m etl`: one run from the command line; `sjduck etl` starts it."""

import sys

from etl.command import main

if __name__ == "__main__":
    sys.exit(main())
