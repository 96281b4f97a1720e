"""`python -m etl`: the command line that `sjduck etl` starts, one request, or a watcher's runs."""

import sys

if __name__ == "__main__":
    if sys.argv[1:] == ["--request"]:
        from etl import requests

        sys.exit(requests.main())
    if sys.argv[1:] == ["--runs"]:
        from etl import worker

        sys.exit(worker.main())
    from etl.command import main

    sys.exit(main())
