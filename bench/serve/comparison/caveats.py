"""What keeps a figure from being one of the server alone."""

import statistics

# Shares of a core from which on the client is the limit, and of both from which on somebody else had a part.
CLIENT_LIMIT = 0.97
FOREIGN_LIMIT = 0.03


def of(samples):
    """Short texts; none for good figures."""
    server, client, foreign = (statistics.median(getattr(sample, share) for sample in samples)
                               for share in ("server_share", "client_share", "foreign_share"))
    found = []
    if client >= CLIENT_LIMIT > server:
        found.append("client-limited")
    if foreign > FOREIGN_LIMIT:
        found.append(f"disturbed {foreign:.0%}")
    return found
