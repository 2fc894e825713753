"""The one exception class for a user's mistake."""


class InputError(ValueError):
    """Something the user gave is wrong; the message names it and the remedy.

    The command line prints such a message as one line and exits with code 2. Subclassing
    ``ValueError`` keeps scikit-learn's conventions: bad parameters and bad data raise ``ValueError``.
    """


class InputTypeError(InputError, TypeError):
    """An :class:`InputError` about the type of a thing, such as a matrix of objects."""
