"""``python -m softvec`` is the command ``softvec``."""

from softvec.cli import main

if __name__ == "__main__":
    main()
