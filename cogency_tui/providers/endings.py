"""What an answer's end says that its text does not show, the same for requests and sessions."""

from cogency_tui.errors import BadRequestError, ProviderProtocolError
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire import Finish


def check_ending(endpoint: Endpoint, finish: Finish, wrote_text: bool) -> None:
    """Report an end that the text does not show. To be called after the usage has been yielded.

    Raises:
        BadRequestError: a filter cut the answer off.
        ProviderProtocolError: the answer is empty.
    """
    name = endpoint.name
    if finish == "filter":
        raise BadRequestError(
            f"The content filter of {name} cut the answer off.", "Put the request differently."
        )
    if wrote_text:
        return
    if finish == "length":
        raise ProviderProtocolError(
            f"{name} used up the tokens of its answer before it wrote any text.",
            "Raise the server's limit of output tokens, or choose another model.",
        )
    raise ProviderProtocolError(f"{name} gave an empty answer.", "Send it again, or choose another model.")
