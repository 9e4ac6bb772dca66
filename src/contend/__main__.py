"""`python -m contend`: the command line."""

from contend.cli.main import main

if __name__ == "__main__":
    main()
